import { SIGNAL_EXIT } from './exit-codes.ts';
import type { CliIo, InterruptSignal } from './io.ts';

/** The first signal asks for a good end, the second ends the process at once. */
export interface Interruptions {
  readonly signal: InterruptSignal | null;
  /** Resolves with the first signal; never, when there is none. */
  readonly first: Promise<InterruptSignal>;
  /** Calls `listener` with the first signal, at once if it was there already. */
  onFirst(listener: (signal: InterruptSignal) => void): void;
  /** Asks before a SIGINT counts: true when it was for something else, such as the run that is open. */
  onAsked(asked: () => boolean): void;
  /** Waits for the work; rejects with `Interrupted` when a signal comes first. For what can be left undone. */
  unless<Value>(work: Promise<Value>): Promise<Value>;
  stop(): void;
}

/** Thrown when a signal came before anything had begun. */
export class Interrupted extends Error {
  readonly signal: InterruptSignal;

  constructor(signal: InterruptSignal) {
    super(`Interrupted by ${signal}.`);
    this.name = 'Interrupted';
    this.signal = signal;
  }
}

export function watchSignals(io: CliIo): Interruptions {
  const listeners = new Set<(signal: InterruptSignal) => void>();
  let first: InterruptSignal | null = null;
  let asked = (): boolean => false;
  const firstOne = new Promise<InterruptSignal>((resolve) => listeners.add(resolve));
  const stop = io.onSignal((signal) => {
    if (signal === 'SIGINT' && first === null && asked()) return;
    if (first !== null) {
      io.exit(SIGNAL_EXIT[signal]);
      return;
    }
    first = signal;
    for (const listener of listeners) listener(signal);
  });
  return {
    get signal() {
      return first;
    },
    first: firstOne,
    onFirst(listener) {
      if (first === null) listeners.add(listener);
      else listener(first);
    },
    onAsked(ask) {
      asked = ask;
    },
    unless(work) {
      return new Promise((resolve, reject) => {
        const interrupted = (signal: InterruptSignal): void => reject(new Interrupted(signal));
        if (first === null) listeners.add(interrupted);
        else interrupted(first);
        void work.then(resolve, reject).finally(() => listeners.delete(interrupted));
      });
    },
    stop,
  };
}
