import type { DurableEvent, TreadleError } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import type { SessionState } from '@treadle/core/kernel';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';

/** An input that is in the log. */
export interface Accepted {
  /** Its event. */
  readonly inputSeq: number;
  /** True when the same request, by its idempotency key, was there before. */
  readonly duplicate: boolean;
}

/** Events, from the last one backwards, in which a key is looked for that was used before. */
const KEY_WINDOW = 2000;

/** Who asks, and the key under which the same request counts once. */
export interface Ask {
  readonly sessionId: string;
  readonly key: string;
}

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
  parts: ServerParts,
  { sessionId, key }: Ask,
  input: SessionInput,
  refuse: (state: SessionState) => TreadleError | null = () => null,
): Promise<Accepted> {
  const state = await parts.states.of(sessionId);
  const refused = refuse(state);
  if (refused) {
    const before = await findInput(parts, sessionId, key);
    if (!before) throw refused;
    return repeated(before, input);
  }
  refuseDraining(parts);
  const outcome = await parts.journal.post(sessionId, input, key, parts.clock.now());
  if (outcome.duplicate) {
    for await (const event of parts.journal.read(sessionId, outcome.seq)) {
      if (event.type === 'input_received') return repeated(event, input);
      break;
    }
  }
  await parts.dispatcher.dispatch(sessionId);
  return { inputSeq: outcome.seq, duplicate: outcome.duplicate };
}

export const isSameInput = (event: InputReceived, input: SessionInput): boolean =>
  JSON.stringify(event.input) === JSON.stringify(input);

function repeated(event: InputReceived, input: SessionInput): Accepted {
  if (isSameInput(event, input)) return { inputSeq: event.seq, duplicate: true };
  throw mismatch();
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
