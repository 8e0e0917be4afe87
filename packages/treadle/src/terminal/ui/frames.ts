import type { TerminalDevice } from './device.ts';

/** Milliseconds between frames, but for keys: they are drawn at once. */
const FRAME_MS = 33;
/** Milliseconds between turns of the sign that something goes on. */
const BEAT_MS = 250;

/** When the screen is drawn. */
export interface Frames {
  /** Draws soon: at most so often, however much happens. */
  schedule(): void;
  /** A frame is drawn now: nothing is due any more. */
  begin(): void;
  /** Counts while something goes on. */
  readonly beat: number;
  /** While something goes on, the sign for it turns; else nothing is drawn. */
  keepBeat(goesOn: boolean): void;
  stop(): void;
}

export function createFrames(device: Pick<TerminalDevice, 'now' | 'after'>, draw: () => void): Frames {
  let frame: (() => void) | null = null;
  let tick: (() => void) | null = null;
  let drawnAt = 0;
  let beat = 0;
  const begin = (): void => {
    frame?.();
    frame = null;
    drawnAt = device.now();
  };
  return {
    schedule() {
      frame ??= device.after(Math.max(0, FRAME_MS - (device.now() - drawnAt)), () => {
        frame = null;
        draw();
      });
    },
    begin,
    get beat() {
      return beat;
    },
    keepBeat(goesOn) {
      if (!goesOn) {
        tick?.();
        tick = null;
        return;
      }
      tick ??= device.after(BEAT_MS, () => {
        tick = null;
        beat += 1;
        draw();
      });
    },
    stop() {
      frame?.();
      tick?.();
    },
  };
}
