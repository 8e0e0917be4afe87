import { errorText } from './errors.ts';
import type { Clock } from './ports/clock.ts';

/** What came of calling somebody else's function. */
export type TimedOutcome =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

export interface TimedCall {
  /** Who is called, for the words of a problem. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly call: (signal: AbortSignal) => unknown;
}

/** Calls somebody else's function and always comes back: throwing, hanging and being interrupted are problems in words. */
export function timedCall({ name, timeoutMs, clock, signal, call }: TimedCall): Promise<TimedOutcome> {
  return new Promise((resolve) => {
    const abort = new AbortController();
    const settle = (outcome: TimedOutcome): void => {
      cancel();
      signal.removeEventListener('abort', interrupted);
      resolve(outcome);
    };
    const give = (problem: string): void => {
      settle({ ok: false, problem });
      abort.abort();
    };
    const interrupted = (): void => give(`${name} was interrupted.`);
    const cancel = clock.after(timeoutMs, () => give(`${name} took more than ${timeoutMs} ms.`));
    const failed = (thrown: unknown): void => settle({ ok: false, problem: `${name} failed: ${errorText(thrown)}` });
    if (signal.aborted) return interrupted();
    signal.addEventListener('abort', interrupted);
    try {
      Promise.resolve(call(abort.signal)).then((value: unknown) => settle({ ok: true, value }), failed);
    } catch (thrown) {
      failed(thrown);
    }
  });
}
