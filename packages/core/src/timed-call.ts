import { errorText } from './errors.ts';
import type { Clock } from './ports/clock.ts';

/** What came of calling somebody else's function. */
export type TimedOutcome<Value = unknown> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly problem: string };

export interface TimedCall<Value = unknown> {
  /** Who is called, for the words of a problem. */
  readonly name: string;
  /** Infinity: no limit. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly call: (signal: AbortSignal) => Value | Promise<Value>;
  /** True keeps no process alive. Default false. */
  readonly background?: boolean;
}

/** Calls somebody else's function and always comes back: throwing, hanging and being interrupted are problems in words. */
export async function timedCall<Value>(timed: TimedCall<Value>): Promise<TimedOutcome<Value>> {
  const { name, timeoutMs, clock, signal, call, background = false } = timed;
  const abort = new AbortController();
  const given = Promise.withResolvers<TimedOutcome<Value>>();
  const give = (problem: string): void => {
    given.resolve({ ok: false, problem });
    abort.abort();
  };
  const interrupted = (): void => give(`${name} was interrupted.`);
  if (signal.aborted) interrupted();
  signal.addEventListener('abort', interrupted);
  const late = (): void => give(`${name} took more than ${timeoutMs} ms.`);
  const cancel = timeoutMs === Infinity ? () => {} : clock.after(timeoutMs, late, { background });
  // A function that throws at once is no different from one that rejects.
  const answered = async (): Promise<TimedOutcome<Value>> => ({ ok: true, value: await call(abort.signal) });
  try {
    return await (abort.signal.aborted ? given.promise : Promise.race([answered(), given.promise]));
  } catch (thrown) {
    return { ok: false, problem: `${name} failed: ${errorText(thrown)}` };
  } finally {
    cancel();
    signal.removeEventListener('abort', interrupted);
  }
}

/** What the work comes to, or `late` when that takes longer. */
export async function within<Value, Late>(
  clock: Clock,
  ms: number,
  work: Promise<Value>,
  late: Late,
): Promise<Value | Late> {
  const timer = Promise.withResolvers<Late>();
  const cancel = clock.after(ms, () => timer.resolve(late));
  try {
    return await Promise.race([work, timer.promise]);
  } finally {
    cancel();
  }
}

/** Waits for so long, or until the signal fires, or until `over` settles. */
export async function pause(
  clock: Clock,
  ms: number,
  until: {
    readonly signal?: AbortSignal | undefined;
    readonly over?: Promise<unknown> | undefined;
    /** True keeps no process alive. Default false. */
    readonly background?: boolean;
  },
): Promise<void> {
  const { signal, over, background = false } = until;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  const cancel = clock.after(ms, done, { background });
  signal?.addEventListener('abort', done);
  over?.then(done, done);
  if (signal?.aborted !== true) await promise;
  cancel();
  signal?.removeEventListener('abort', done);
}
