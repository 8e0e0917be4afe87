import { sessionsOf, type Journal } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import type { SessionHit } from '@treadle/core/history';
import { checkTags, checkTitle, type SessionSummary } from '@treadle/core/journal';
import type { ServerParts } from '../parts.ts';
import { maySee, type Principal } from '../security/tokens.ts';
import { findInput, isSameInput, mismatch, refuseDraining, type Accepted, type Ask } from './post.ts';

export interface PageRequest {
  /** Default 20. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly agent?: string;
  readonly tag?: string;
}

interface SearchRequest extends PageRequest {
  readonly query: string;
  /** False looks at titles, tags and first prompts only. Default true. */
  readonly messages?: boolean;
}

/** Names a session. */
export const renameSession = (parts: ServerParts, ask: Ask, title: string): Promise<Accepted> =>
  note(parts, ask, { type: 'rename', title: checkTitle(title) });

/** Changes the tags of a session: those of `remove` are taken away first. */
export function tagSession(
  parts: ServerParts,
  ask: Ask,
  { add = [], remove = [] }: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
): Promise<Accepted> {
  const added = add.length === 0 ? {} : { add: checkTags(add) };
  const removed = remove.length === 0 ? {} : { remove: checkTags(remove) };
  return note(parts, ask, { type: 'tag', ...added, ...removed });
}

/** What is only for lists of sessions: nobody needs to drive them for it. */
async function note(parts: ServerParts, { sessionId, key }: Ask, input: SessionInput): Promise<Accepted> {
  refuseDraining(parts);
  const { seq, duplicate } = await parts.journal.post(sessionId, input, key, parts.clock.now());
  const before = duplicate ? await findInput(parts, sessionId, key) : null;
  if (before && !isSameInput(before, input)) throw mismatch();
  return { inputSeq: seq, duplicate };
}

/** Rows that are passed over for one page: a token with a narrow scope, or a rare word, mustn't cost a whole journal. */
const MOST_LOOKED_AT = 2000;
/** Logs that are read for one page of a search. */
const MOST_SEARCHED = 200;

/** A page of the sessions that a token may see, newest first. */
export async function listSessions(
  { journal }: ServerParts,
  principal: Principal,
  request: PageRequest,
): Promise<{ readonly sessions: readonly SessionSummary[]; readonly cursor?: string }> {
  const sessions: SessionSummary[] = [];
  const cursor = await pages(journal, principal, request, MOST_LOOKED_AT, (visible) => {
    sessions.push(...visible);
    return visible.length;
  });
  return { sessions, ...(cursor === undefined ? {} : { cursor }) };
}

/** A page of the sessions with all words of a query. It may be short, or empty, and have another one after it. */
export async function searchSessions(
  { journal }: ServerParts,
  principal: Principal,
  { query, messages = true, ...request }: SearchRequest,
  signal: AbortSignal,
): Promise<{ readonly hits: readonly SessionHit[]; readonly cursor?: string }> {
  const hits: SessionHit[] = [];
  const cursor = await pages(journal, principal, request, MOST_SEARCHED, async (visible) => {
    const before = hits.length;
    // What a token may not see is not read for it either.
    const rows = sessionsOf({ ...journal, list: async () => ({ sessions: visible }) });
    for await (const hit of rows.search(query, { messages })) {
      signal.throwIfAborted();
      hits.push(hit);
    }
    return hits.length - before;
  });
  return { hits, ...(cursor === undefined ? {} : { cursor }) };
}

/** Goes through rows until `take` has counted enough of them, or enough were looked at. Resolves with where to go on. */
async function pages(
  journal: Journal,
  principal: Principal,
  { limit = 20, cursor, agent, tag }: PageRequest,
  most: number,
  take: (visible: readonly SessionSummary[]) => number | Promise<number>,
): Promise<string | undefined> {
  let next = cursor;
  let taken = 0;
  for (let looked = 0; looked < most;) {
    const page = await journal.list({
      limit: limit - taken,
      ...(next === undefined ? {} : { cursor: next }),
      ...(agent === undefined ? {} : { agentId: agent }),
      ...(tag === undefined ? {} : { tag }),
    });
    taken += await take(page.sessions.filter(({ sessionId }) => maySee(principal, sessionId)));
    looked += page.sessions.length;
    next = page.cursor;
    if (next === undefined || taken >= limit) break;
  }
  return next;
}
