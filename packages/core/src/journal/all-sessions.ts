import type { Journal, ListOptions, SessionSummary } from './journal.ts';

/** The rows of all sessions that a journal lists, page after page. */
export async function* allSessions(
  journal: Pick<Journal, 'list'>,
  options: ListOptions = {},
): AsyncGenerator<SessionSummary> {
  let cursor: string | undefined;
  do {
    const page = await journal.list({ limit: 200, ...options, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.sessions;
    ({ cursor } = page);
  } while (cursor !== undefined);
}
