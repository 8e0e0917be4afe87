/** Why the effects of a drive are being cut short. */
export type InterruptReason = 'cancelled' | 'time_limit' | 'lost';

/**
 * One switch for everything a drive has in flight. Cheaper than one `AbortSignal` with a listener per call, and the
 * reason is typed.
 */
export interface Interrupt {
  fired(): InterruptReason | null;
  fire(reason: InterruptReason): void;
  /** Calls `listener` when fired, at once if it was; returns a function that forgets it. */
  on(listener: (reason: InterruptReason) => void): () => void;
  /** Ready for the next run of the same drive. A lost drive stays lost. */
  reset(): void;
}

type Listener = (reason: InterruptReason) => void;

const NOBODY: readonly Listener[] = [];

export function createInterrupt(): Interrupt {
  // Replaced, never changed: a drive has one or two at a time, and one for each call that runs.
  let listeners = NOBODY;
  let reason: InterruptReason | null = null;
  return {
    fired: () => reason,
    fire(why) {
      if (reason !== null && why !== 'lost') return;
      reason = why;
      // One that another has made forget is not called any more.
      for (const listener of listeners) if (listeners.includes(listener)) listener(why);
    },
    on(listener) {
      if (reason !== null) {
        listener(reason);
        return nothing;
      }
      listeners = listeners.length === 0 ? [listener] : [...listeners, listener];
      return () => {
        if (!listeners.includes(listener)) return;
        listeners = listeners.length === 1 ? NOBODY : listeners.filter((other) => other !== listener);
      };
    },
    reset() {
      if (reason !== 'lost') reason = null;
    },
  };
}

const nothing = (): void => {};

/** Waits for the work, but not beyond the interrupt: then the answer is `late`, and what the work comes to is ignored. */
export function untilInterrupted<Value>(interrupt: Interrupt, work: Promise<Value>, late: Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    const forget = interrupt.on(() => {
      resolve(late);
    });
    work.then(
      (value) => {
        forget();
        resolve(value);
      },
      (error: unknown) => {
        forget();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
