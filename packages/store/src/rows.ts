import type { DurableEvent, TreadleError } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import {
  standingOf,
  upToDate,
  type ListOptions,
  type Rest,
  type SessionFacts,
  type SessionPage,
} from '@treadle/core/journal';
import { MAX_ENVELOPE_DEPTH, parseJson } from '@treadle/core/json';

// What the journals in databases make of their rows. A client may give big numbers as text.

/** Numbers of a session's log that are in the rows of one session: its own, or those of an ancestor. */
export interface Stretch<Id> {
  readonly session: Id;
  next: number;
  readonly last: number;
}

/** A session, or one that it was forked from, with the last number that is read of it. */
export interface AncestorRow<Id> {
  readonly id: Id;
  readonly base: number | string;
  readonly last: number | string;
}

/** Where the events of a session from `from` on are, the first ones first. */
export const stretchesOf = <Id>(line: readonly AncestorRow<Id>[], from: number): Stretch<Id>[] =>
  line
    .map(({ id, base, last }) => ({ session: id, next: Math.max(from, Number(base) + 1, 1), last: Number(last) }))
    .filter(({ next, last }) => next <= last)
    .toSorted((a, b) => a.next - b.next);

/** What a reader fetches at a time. */
export const BATCH_ROWS = 500;

/**
 * The events of stretches, fetched in batches.
 *
 * @param missing the error when events are missing from a number on
 */
export async function* eventsIn<Id, Row extends { readonly seq: number | string }>(
  stretches: readonly Stretch<Id>[],
  fetch: (stretch: Stretch<Id>) => Promise<readonly Row[]>,
  missing: (from: number) => Promise<TreadleError>,
  parse: (row: Row) => DurableEvent,
): AsyncGenerator<DurableEvent> {
  for (const stretch of stretches) {
    while (stretch.next <= stretch.last) {
      const rows = await fetch(stretch);
      const isGap = rows.some(({ seq }, index) => Number(seq) !== stretch.next + index);
      if (rows.length === 0 || isGap) throw await missing(stretch.next);
      stretch.next += rows.length;
      for (const row of rows) yield parse(row);
    }
  }
}

/** @param corrupt the error for what an event is */
export function eventOf(
  seq: number,
  body: string,
  corrupt: (what: string, cause?: unknown) => TreadleError,
): DurableEvent {
  let event: unknown;
  try {
    event = parseJson(body, MAX_ENVELOPE_DEPTH);
  } catch (error) {
    throw corrupt('is not JSON', error);
  }
  if (typeof event !== 'object' || event === null) throw corrupt('is not an object');
  return upToDate(Object.assign(event as DurableEventBody, { seq }));
}

/** A session as `list` finds it. */
export interface ListRow {
  readonly id: number | string;
  readonly sessionId: string;
  readonly createdAt: number | string;
  readonly updatedAt: number | string;
  readonly agentId: string | null;
  readonly firstPrompt: string | null;
  readonly base: number | string;
  readonly parentId: string | null;
  readonly seq: number | string;
  /** JSON; null for a session of the time before there were any. */
  readonly facts: string | null;
  /** How it was left, and JSON of what it waits for; null for one that another session drives. */
  readonly status: Rest['status'] | null;
  readonly waitsFor: string | null;
}

/** What a cursor says: the time of the last session that was shown, and its row. */
export const cursorOf = ({ cursor }: ListOptions): readonly (number | undefined)[] =>
  cursor?.split('.').map(Number) ?? [];

/** A page of the rows, of which there is one more when there is another page. */
export function pageOf(rows: readonly ListRow[], limit: number): SessionPage {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: shown.map((row) => ({
      sessionId: row.sessionId,
      seq: Number(row.seq),
      createdAt: Number(row.createdAt),
      updatedAt: Number(row.updatedAt),
      ...(row.agentId !== null && { agentId: row.agentId }),
      ...(row.firstPrompt !== null && { firstPrompt: row.firstPrompt }),
      ...(row.facts !== null && (parseJson(row.facts) as SessionFacts)),
      ...(row.status !== null &&
        standingOf({ status: row.status, waitsFor: parseJson(row.waitsFor ?? '[]') as Rest['waitsFor'] })),
      ...(row.parentId !== null && { parent: { sessionId: row.parentId, seq: Number(row.base) } }),
    })),
    ...(last && rows.length > limit && { cursor: `${last.updatedAt}.${last.id}` }),
  };
}
