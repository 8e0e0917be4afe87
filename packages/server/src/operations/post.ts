import type { DurableEvent, TreadleError } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import type { SessionState } from '@treadle/core/kernel';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import type { Principal } from '../security/tokens.ts';

/** What operations know of the request that they are done for. */
export interface Caller {
  readonly parts: ServerParts;
  readonly principal: Principal;
  /** The idempotency key of the request; null when it has none. */
  readonly key: string | null;
  /** The key under which what it adds to a log counts once. Without an idempotency key it is a new one. */
  readonly inputKey: string;
}

/** An input that is in the log. */
export interface Accepted {
  /** Its event. */
  readonly inputSeq: number;
  /** True when the same request, by its idempotency key, was there before. */
  readonly duplicate: boolean;
}

/** Events, from the last one backwards, in which a key is looked for that was used before. */
const KEY_WINDOW = 2000;

export type InputReceived = Extract<DurableEvent, { type: 'input_received' }>;

/** @throws RequestError `draining` when no more work is taken. */
export function refuseDraining({ isDraining }: ServerParts): void {
  if (isDraining()) throw new RequestError('draining', 'The server is about to stop. Try again, elsewhere or later.');
}

/**
 * Puts an input into a session's inbox, once per key, and has the session driven. `refuse` says why the session can't take it
 * now; a request that is repeated is not refused for what it did itself.
 */
export async function post(
  caller: Caller,
  sessionId: string,
  input: SessionInput,
  refuse: (state: SessionState) => TreadleError | null = () => null,
): Promise<Accepted> {
  const { parts, inputKey } = caller;
  const refused = refuse(await parts.states.of(sessionId));
  if (refused) {
    const before = await findInput(parts, sessionId, inputKey);
    if (!before) throw refused;
    checkSame(before, input);
    return { inputSeq: before.seq, duplicate: true };
  }
  const done = await note(caller, sessionId, input);
  if (!done.duplicate) await parts.dispatcher.dispatch(sessionId);
  return done;
}

/** Puts an input into a log, once per key, without having the session driven. */
export async function note({ parts, inputKey }: Caller, sessionId: string, input: SessionInput): Promise<Accepted> {
  refuseDraining(parts);
  const { journal, clock } = parts;
  const { seq, duplicate } = await journal.post(sessionId, input, inputKey, clock.now());
  if (duplicate) {
    for await (const event of journal.read(sessionId, seq)) {
      if (event.type === 'input_received') checkSame(event, input);
      break;
    }
  }
  return { inputSeq: seq, duplicate };
}

/** @throws RequestError `idempotency_mismatch` */
export function checkSame(before: InputReceived, input: SessionInput): void {
  if (JSON.stringify(before.input) !== JSON.stringify(input)) throw mismatch();
}

export const mismatch = (): RequestError =>
  new RequestError('idempotency_mismatch', 'This idempotency key was used for another request. Use a new one.');

/** The input that was posted under a key, if that isn't too long ago. */
export async function findInput(parts: ServerParts, sessionId: string, key: string): Promise<InputReceived | null> {
  for await (const event of recent(parts, sessionId)) {
    if (event.type === 'input_received' && event.key === key) return event;
  }
  return null;
}

/** The last events of a log, oldest first. */
export async function* recent({ states, journal }: ServerParts, sessionId: string): AsyncGenerator<DurableEvent> {
  const { seq } = await states.of(sessionId);
  yield* journal.read(sessionId, Math.max(1, seq - KEY_WINDOW));
}
