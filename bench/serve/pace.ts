/** Milliseconds from one tick to the next. In each, every stream is told one event. */
const TICK_MS = 100;

/** Ticks that all who wait share, so that everybody is asked for the same at the same time. */
export interface Pace {
  /** Resolves at the next tick. */
  next(): Promise<void>;
  go(): void;
  stop(): void;
}

/** Begins at `go`; `tick` is called each time, after those who wait. */
export function createPace(tick: () => void = () => {}): Pace {
  let timer: NodeJS.Timeout | undefined;
  let now = Promise.withResolvers<void>();
  return {
    next: () => now.promise,
    go() {
      timer = setInterval(() => {
        const due = now;
        now = Promise.withResolvers<void>();
        due.resolve();
        tick();
      }, TICK_MS);
    },
    stop: () => clearInterval(timer),
  };
}
