import type { DurableEventBody, SessionInput } from '@treadle/core/events';
import type { AppendOutcome, PostOutcome, SessionFacts } from '@treadle/core/journal';
import {
  agentIdOf,
  changesFacts,
  eventText,
  factsAfter,
  firstPromptOf,
  isDrivenElsewhere,
  journalErrors,
} from '@treadle/core/journal';
import { parseJson } from '@treadle/core/json';
import { requireEvent, type Leasing } from '../checks.ts';
import { transaction } from './database.ts';
import { refuseOthers } from './claims.ts';
import { findSession, sessionOf, type Store } from './statements.ts';
import { sumOf, type SummedRow } from './sum.ts';

export function createSession(
  store: Store,
  name: string,
  first: DurableEventBody,
  fork: { readonly sessionId: string; readonly seq: number } | undefined,
): void {
  const agentId = agentIdOf(first) ?? null;
  transaction(store.db, () => {
    if (findSession(store, name)) throw journalErrors.exists(name);
    const parent = fork && sessionOf(store, fork.sessionId);
    if (fork && parent) requireEvent(fork.sessionId, fork.seq, parent.seq);
    const base = fork?.seq ?? 0;
    const inherits = parent?.firstPromptSeq != null && parent.firstPromptSeq <= base;
    const row = store.createSession.get({
      name,
      parent: parent?.id ?? null,
      base,
      at: first.at,
      agentId,
      firstPrompt: inherits ? parent.firstPrompt : null,
      firstPromptSeq: inherits ? parent.firstPromptSeq : null,
      facts: JSON.stringify(factsAfter({}, first)),
    }) as { id: number };
    addEvent(store, row.id, { seq: base + 1, at: first.at, posted: 0, body: eventText(first) });
    if (!isDrivenElsewhere(first)) store.addWake.run({ session: row.id });
  });
}

const addEvent = (store: Store, session: number, row: SummedRow): unknown =>
  store.addEvent.run({ session, ...row, sum: sumOf(row) });

/** Remembers an input's key, and the session's first prompt. */
function noteInput(store: Store, session: number, key: string, input: SessionInput, seq: number): void {
  store.addInput.run({ session, key, seq });
  const text = firstPromptOf(input);
  if (text !== undefined) store.setFirstPrompt.run({ session, text, seq });
}

/** What `list` shows of a session, after an event that changes it. */
function noteFacts(store: Store, session: number, event: DurableEventBody): void {
  if (!changesFacts(event)) return;
  const { facts } = store.facts.get({ session }) as { facts: string | null };
  const known = facts === null ? {} : (parseJson(facts) as SessionFacts);
  store.setFacts.run({ session, facts: JSON.stringify(factsAfter(known, event)) });
}

export function postInput(store: Store, name: string, input: SessionInput, key: string, at: number): PostOutcome {
  const event: DurableEventBody = { type: 'input_received', at, key, input };
  const body = eventText(event);
  return transaction(store.db, () => {
    const { id: session, seq: last } = sessionOf(store, name);
    const before = store.input.get({ session, key }) as { seq: number } | undefined;
    if (before) return { seq: before.seq, duplicate: true };
    const seq = last + 1;
    addEvent(store, session, { seq, at, posted: 1, body });
    noteInput(store, session, key, input, seq);
    noteFacts(store, session, event);
    if (isDrivenElsewhere(event)) store.dropWake.run({ session });
    else store.setDue.run({ session, at, status: null });
    return { seq, duplicate: false };
  });
}

/** What an append wants to be true. */
export interface Append {
  readonly name: string;
  /** The row id of the session, which no other session ever has; undefined when it isn't known. */
  readonly session: number | undefined;
  readonly epoch: number;
  /** The last number of the log. */
  readonly expected: number;
}

/** Why an append was not written; true when nothing stands in its way. */
function standing(store: Store, { name, epoch, expected }: Append): true | { ok: false; seq: number } {
  const { id: session, seq, epoch: highest } = sessionOf(store, name);
  const lease = store.lease.get({ session }) as { epoch: number } | undefined;
  if (epoch !== highest) throw journalErrors.fenced(name, epoch, `epoch ${highest} took it over`);
  if (!lease) throw journalErrors.fenced(name, epoch, 'its claim was released');
  if (expected === seq) return true;
  if (expected > seq || store.appendedAfter.get({ session, seq: expected }))
    throw journalErrors.fenced(name, epoch, `it expects event ${expected + 1}, the log ends at ${seq}`);
  return { ok: false, seq };
}

function writeAll(
  store: Store,
  { name, epoch, expected, session = sessionOf(store, name).id }: Append,
  bodies: readonly DurableEventBody[],
  texts: readonly string[],
): boolean {
  const [first] = bodies;
  if (!first) return true;
  const text = texts[0] ?? '';
  const sum = sumOf({ seq: expected + 1, at: first.at, posted: 0, body: text });
  // A number would arrive as floating point.
  const values = [BigInt(expected), first.at, text, sum, session, epoch] as const;
  const hasInput = bodies.some(({ type }) => type === 'input_received');
  if (bodies.length === 1 && !hasInput) return store.append.run(...values).changes === 1;
  return transaction(store.db, () => {
    // Only the first can miss: from then on the lock is ours.
    if (store.append.run(...values).changes !== 1) return false;
    for (const [index, body] of bodies.entries()) {
      const seq = expected + index + 1;
      if (index > 0) addEvent(store, session, { seq, at: body.at, posted: 0, body: texts[index] ?? '' });
      if (body.type !== 'input_received') continue;
      noteInput(store, session, body.key, body.input, seq);
      noteFacts(store, session, body);
    }
    return true;
  });
}

export function appendEvents(
  store: Store,
  append: Append,
  bodies: readonly DurableEventBody[],
  texts: readonly string[],
): AppendOutcome {
  if (bodies.length > 0 && writeAll(store, append, bodies, texts))
    return { ok: true, events: bodies.map((body, index) => ({ ...body, seq: append.expected + index + 1 })) };
  const reason = standing(store, append);
  if (reason !== true) return reason;
  if (bodies.length === 0) return { ok: true, events: [] };
  throw journalErrors.fenced(append.name, append.epoch, 'the session was replaced meanwhile');
}

/** Deletes what no fork reads of a removed session, and its removed ancestors when it was the last to read them. */
function prune(store: Store, id: number): void {
  const forked = store.lastForked.get({ id }) as { seq: number | null };
  store.dropEventsAfter.run({ id, seq: forked.seq ?? 0 });
  store.dropSnapshotsAfter.run({ id, seq: forked.seq ?? 0 });
  if (forked.seq !== null) return;
  const row = store.ancestor.get({ id }) as { parent: number | null };
  store.dropSession.run({ id });
  if (row.parent === null) return;
  const parent = store.ancestor.get({ id: row.parent }) as { removed: number } | undefined;
  if (parent?.removed === 1) prune(store, row.parent);
}

export function removeSession(store: Store, leasing: Leasing, name: string): void {
  transaction(store.db, () => {
    const { id } = sessionOf(store, name);
    refuseOthers(store, leasing, name, id);
    store.dropLease.run({ session: id });
    store.dropWake.run({ session: id });
    store.dropInputs.run({ id });
    store.markRemoved.run({ id });
    prune(store, id);
  });
}
