import type { DurableEvent } from '@treadle/core';
import { journalErrors, type ListOptions, type SessionPage } from '@treadle/core/journal';
import { BATCH_ROWS, cursorOf, eventOf, eventsIn, pageOf, stretchesOf, type ListRow, type Stretch } from '../rows.ts';
import { corrupt } from './errors.ts';
import { findSession, lineOf, sessionOf, type Store } from './statements.ts';
import { sumOf, type SummedRow } from './sum.ts';

/** `sum` is null in rows of an earlier format. In a damaged file the body may be anything. */
interface EventRow extends Omit<SummedRow, 'body'> {
  readonly body: unknown;
  readonly sum: number | null;
}

const hasText = (row: EventRow): row is EventRow & SummedRow => typeof row.body === 'string';

/** What a reader fetches at a time, at most: little enough to keep neither the process nor the memory busy. */
const BATCH_CHARACTERS = 256 * 1024;

function fetchBatch(store: Store, part: Stretch<number>): EventRow[] {
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

/** Reads in batches, between which others may write; `run` gives the open store and turns SQLite's errors into ours. */
export async function* readEvents(
  path: string,
  name: string,
  from: number,
  run: <T>(work: (store: Store) => T) => Promise<T>,
): AsyncGenerator<DurableEvent> {
  const stretches = await run((store) => {
    const { id, seq } = sessionOf(store, name);
    return stretchesOf(lineOf(store, id, seq), from);
  });
  yield* eventsIn(
    stretches,
    (stretch) => run((store) => fetchBatch(store, stretch)),
    async (next) =>
      (await run((store) => findSession(store, name)))
        ? corrupt(path, `events of session ${name} are missing from ${next} on`)
        : journalErrors.notFound(name),
    (row) => {
      const broken = (what: string, cause?: unknown) =>
        corrupt(path, `event ${row.seq} of session ${name} ${what}`, cause);
      if (!hasText(row) || (row.sum !== null && row.sum !== sumOf(row))) throw broken("isn't what was written");
      return eventOf(row.seq, row.body, broken);
    },
  );
}

export function listSessions(store: Store, options: ListOptions): SessionPage {
  const { limit = 50, agentId = null, tag = null } = options;
  const [updatedAt = null, id = null] = cursorOf(options);
  const rows = store.list.all({ agentId, tag, updatedAt, id, limit: limit + 1 });
  return pageOf(rows as unknown as readonly ListRow[], limit);
}
