import assert from 'node:assert/strict';
import type { DurableEvent, Journal, TreadleErrorCode } from '@treadle/core';
import type { DurableEventBody, SessionInput } from '@treadle/core/events';
import type { Claim } from '@treadle/core/journal';

type Created = Extract<DurableEventBody, { type: 'session_created' }>;

export function created(sessionId: string, at = 1000, over: Partial<Created> = {}): Created {
  return { type: 'session_created', at, eventVersion: 1, sessionId, ...over };
}

export const prompt = (text: string): SessionInput => ({
  type: 'prompt',
  messages: [{ content: [{ type: 'text', text }] }],
});

/** An event a drive might write, told apart by `label`. */
export const noted = (label: string, at = 2000): DurableEventBody => ({
  type: 'task_updated',
  at,
  taskId: label,
  status: 'running',
});

export const owner = (id: string) => ({ id, label: `the drive ${id}` });

export async function readAll(journal: Journal, sessionId: string, from = 1): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of journal.read(sessionId, from)) events.push(event);
  return events;
}

/** What an event is about, in a word: the label of `noted`, the key of an input, else the type. */
export const labelOf = (event: DurableEvent): string =>
  event.type === 'task_updated' ? event.taskId : event.type === 'input_received' ? event.key : event.type;

export async function labels(journal: Journal, sessionId: string, from = 1): Promise<string[]> {
  return (await readAll(journal, sessionId, from)).map(labelOf);
}

export const seqsOf = (events: readonly DurableEvent[]): number[] => events.map(({ seq }) => seq);

/** The ids of the sessions that are listed. */
export const ids = async (journal: Journal, options?: Parameters<Journal['list']>[0]): Promise<string[]> =>
  (await journal.list(options)).sessions.map((row) => row.sessionId);

/** Appends for a claim, where nobody posts meanwhile. */
export async function append(journal: Journal, claim: Claim, expectedSeq: number, ...events: DurableEventBody[]) {
  const outcome = await journal.append(claim.sessionId, claim.epoch, expectedSeq, events);
  assert.ok(outcome.ok, 'the append is acknowledged');
  return outcome.events;
}

/** A session with one claim, ready to be written to: `session_created` is event 1. */
export async function begin(journal: Journal, sessionId = 's', ownerId = 'a'): Promise<Claim> {
  await journal.create(sessionId, created(sessionId));
  return journal.claim(sessionId, owner(ownerId));
}

/** Forks a session at an event. */
export const fork = (journal: Journal, child: string, parent: string, seq: number): Promise<void> =>
  journal.create(child, created(child, 3000, { fork: { sessionId: parent, seq } }), { sessionId: parent, seq });

/** The promise rejects with a `TreadleError` of this code. */
export async function rejects(promise: Promise<unknown>, code: TreadleErrorCode, message?: RegExp): Promise<void> {
  let thrown: unknown;
  try {
    await promise;
  } catch (error) {
    thrown = error;
  }
  // Not `instanceof`: a third party's journal may come with another copy of core.
  const error = thrown as { code?: unknown; message?: unknown; name?: unknown } | undefined;
  assert.ok(error, `expected a rejection with ${code}, but it resolved`);
  assert.equal(error.code, code, `expected a rejection with ${code}, got: ${String(error.message)}`);
  assert.equal(error.name, 'TreadleError');
  if (message) assert.match(String(error.message), message);
}

export const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
