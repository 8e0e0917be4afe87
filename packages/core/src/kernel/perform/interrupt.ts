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

export const createInterrupt = (): Interrupt => new Switch();

class Switch implements Interrupt {
  // Replaced, never changed: listeners come and go while they are called.
  private listeners: readonly Listener[] = [];
  private reason: InterruptReason | null = null;

  fired(): InterruptReason | null {
    return this.reason;
  }
  fire(why: InterruptReason): void {
    if (this.reason !== null && why !== 'lost') return;
    this.reason = why;
    // One that another has made forget is not called any more.
    for (const listener of this.listeners) if (this.listeners.includes(listener)) listener(why);
  }
  on(listener: Listener): () => void {
    if (this.reason !== null) {
      listener(this.reason);
      return nothing;
    }
    this.listeners = [...this.listeners, listener];
    return () => this.forget(listener);
  }
  reset(): void {
    if (this.reason !== 'lost') this.reason = null;
  }
  private forget(listener: Listener): void {
    const { listeners } = this;
    if (!listeners.includes(listener)) return;
    this.listeners = listeners.filter((other) => other !== listener);
  }
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
