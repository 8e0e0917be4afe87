import type { Clock } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import type { Pause } from './turns.ts';

/** Waits for the milliseconds or the promise, at most until the signal aborts. Never rejects. */
export function pauseFor(
  pause: number | PromiseLike<unknown>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    let cancel: (() => void) | undefined;
    const done = (): void => {
      signal?.removeEventListener('abort', done);
      cancel?.();
      resolve();
    };
    signal?.addEventListener('abort', done);
    if (typeof pause === 'number') cancel = clock.after(pause, done);
    else pause.then(done, done);
  });
}

/** The next event of a turn, after the pauses before it; undefined at its end, and when the signal aborts a pause. */
export async function nextEvent(
  steps: Iterator<ModelEvent | Pause>,
  clock: Clock,
  signal: AbortSignal,
  beforePause?: () => Promise<void>,
): Promise<ModelEvent | undefined> {
  for (let next = steps.next(); next.done !== true; next = steps.next()) {
    if (next.value.type !== 'pause') return next.value;
    await beforePause?.();
    await pauseFor(next.value.until, clock, signal);
    if (signal.aborted) return undefined;
  }
  return undefined;
}
