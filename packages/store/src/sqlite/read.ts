import type { DurableEvent } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import type { ListOptions, SessionFacts, SessionPage, SessionSummary } from '@treadle/core/journal';
import { journalErrors, upToDate } from '@treadle/core/journal';
import { MAX_ENVELOPE_DEPTH, parseJson } from '@treadle/core/json';
import { corrupt } from './errors.ts';
import type { SessionRow, Store } from './statements.ts';
import { findSession } from './statements.ts';
import { sumOf, type SummedRow } from './sum.ts';
import { sessionOf } from './write.ts';

/** A row id and the numbers to read of it. */
interface Stretch {
  readonly session: number;
  next: number;
  readonly last: number;
}

/** `sum` is null in rows of an earlier format. In a damaged file the body may be anything. */
interface EventRow extends Omit<SummedRow, 'body'> {
  readonly body: unknown;
  readonly sum: number | null;
}

const hasText = (row: EventRow): row is EventRow & SummedRow => typeof row.body === 'string';

/** What a reader fetches at a time: enough to be quick, little enough to keep neither the process nor the memory busy. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 256 * 1024;

function stretches(store: Store, row: SessionRow, from: number): Stretch[] {
  const parts: Stretch[] = [];
  let current: Pick<SessionRow, 'id' | 'base' | 'parent'> | undefined = row;
  let last = row.seq;
  while (current && last >= from) {
    if (last > current.base) parts.push({ session: current.id, next: Math.max(from, current.base + 1), last });
    last = Math.min(last, current.base);
    current =
      current.parent === null ? undefined : (store.ancestor.get({ id: current.parent }) as unknown as SessionRow);
  }
  return parts.reverse();
}

function fetchBatch(store: Store, part: Stretch): EventRow[] {
  const rows: EventRow[] = [];
  let characters = 0;
  const query = { session: part.session, from: part.next, to: part.last };
  for (const row of store.events.iterate(query) as Iterable<unknown> as Iterable<EventRow>) {
    rows.push(row);
    characters += hasText(row) ? row.body.length : 0;
    if (rows.length >= BATCH_ROWS || characters >= BATCH_CHARACTERS) break;
  }
  return rows;
}

function parseEvent(path: string, name: string, row: EventRow): DurableEvent {
  const { seq, sum } = row;
  if (!hasText(row) || (sum !== null && sum !== sumOf(row))) {
    throw corrupt(path, `event ${seq} of session ${name} isn't what was written`);
  }
  let event: unknown;
  try {
    event = parseJson(row.body, MAX_ENVELOPE_DEPTH);
  } catch (error) {
    throw corrupt(path, `event ${seq} of session ${name} is not JSON`, error);
  }
  if (typeof event !== 'object' || event === null)
    throw corrupt(path, `event ${seq} of session ${name} is not an object`);
  return upToDate(Object.assign(event as DurableEventBody, { seq }));
}

/** Reads in batches, between which others may write; `run` gives the open store and turns SQLite's errors into ours. */
export function readEvents(
  path: string,
  name: string,
  from: number,
  run: <T>(work: (store: Store) => T) => Promise<T>,
): AsyncIterator<DurableEvent> {
  let parts: Stretch[] | undefined;
  let index = 0;
  let rows: EventRow[] = [];
  let place = 0;

  function refill(store: Store): void {
    parts ??= stretches(store, sessionOf(store, name), Math.max(1, from));
    rows = [];
    place = 0;
    let part = parts[index];
    while (part && part.next > part.last) part = parts[++index];
    if (!part) return;
    rows = fetchBatch(store, part);
    const gap = rows.length === 0 || rows.some((row, offset) => row.seq !== (part?.next ?? 0) + offset);
    if (gap) {
      if (!findSession(store, name)) throw journalErrors.notFound(name);
      throw corrupt(path, `events of session ${name} are missing from ${part.next} on`);
    }
    part.next += rows.length;
  }

  return {
    async next() {
      if (place >= rows.length) await run(refill);
      const row = rows[place++];
      return row ? { done: false, value: parseEvent(path, name, row) } : { done: true, value: undefined };
    },
    async return() {
      parts = [];
      rows = [];
      return { done: true, value: undefined };
    },
  };
}

interface ListRow {
  readonly id: number;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly agentId: string | null;
  readonly firstPrompt: string | null;
  readonly base: number;
  readonly parentId: string | null;
  /** JSON; null for a session of the time before there were any. */
  readonly facts: string | null;
  readonly seq: number;
}

function summaryOf(row: ListRow): SessionSummary {
  return {
    sessionId: row.sessionId,
    seq: row.seq,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    ...(row.agentId !== null && { agentId: row.agentId }),
    ...(row.firstPrompt !== null && { firstPrompt: row.firstPrompt }),
    ...(row.facts !== null && (parseJson(row.facts) as SessionFacts)),
    ...(row.parentId !== null && { parent: { sessionId: row.parentId, seq: row.base } }),
  };
}

export function listSessions(store: Store, { limit = 50, cursor, agentId, tag }: ListOptions): SessionPage {
  const [updatedAt = null, id = null] = cursor?.split('.').map(Number) ?? [];
  const query = { agentId: agentId ?? null, tag: tag ?? null, updatedAt, id, limit: limit + 1 };
  const rows = store.list.all(query) as unknown as ListRow[];
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: shown.map(summaryOf),
    ...(last && rows.length > limit && { cursor: `${last.updatedAt}.${last.id}` }),
  };
}
