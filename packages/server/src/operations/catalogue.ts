import { sessionsOf, type Journal } from '@treadle/core';
import type { SessionHit } from '@treadle/core/history';
import type { SessionSummary } from '@treadle/core/journal';
import { maySee, type Principal } from '../security/tokens.ts';
import type { Caller } from './post.ts';

/** A page of sessions. */
export interface PageRequest {
  /** Default 20. */
  readonly limit?: number;
  /** The cursor of the page before. */
  readonly cursor?: string;
  /** Only sessions of this agent. */
  readonly agent?: string;
  /** Only sessions with this tag. */
  readonly tag?: string;
}

interface SearchRequest extends PageRequest {
  readonly query: string;
  /** False looks at titles, tags and first prompts only. Default true. */
  readonly messages?: boolean;
}

/** Rows that are passed over for one page: a token with a narrow scope, or a rare word, mustn't cost a whole journal. */
const MOST_LOOKED_AT = 2000;
/** Logs that are read for one page of a search. */
const MOST_SEARCHED = 200;

/** A page of the sessions that a token may see, newest first. */
export async function listSessions(
  { parts: { journal }, principal }: Caller,
  request: PageRequest,
): Promise<{ readonly sessions: readonly SessionSummary[]; readonly cursor?: string }> {
  const sessions: SessionSummary[] = [];
  const next = await pages(journal, principal, request, MOST_LOOKED_AT, (visible) => sessions.push(...visible));
  return { sessions, ...next };
}

/** A page of the sessions with all words of a query. It may be short, or empty, and have another one after it. */
export async function searchSessions(
  { parts: { journal }, principal }: Caller,
  { query, messages = true, ...request }: SearchRequest,
  signal: AbortSignal,
): Promise<{ readonly hits: readonly SessionHit[]; readonly cursor?: string }> {
  const hits: SessionHit[] = [];
  const next = await pages(journal, principal, request, MOST_SEARCHED, async (visible) => {
    // What a token may not see is not read for it either.
    const rows = sessionsOf({ ...journal, list: async () => ({ sessions: visible }) });
    for await (const hit of rows.search(query, { messages })) {
      signal.throwIfAborted();
      hits.push(hit);
    }
    return hits.length;
  });
  return { hits, ...next };
}

/** Goes through rows until `take`, which says how many it has, has enough of them, or enough were looked at. */
async function pages(
  journal: Journal,
  principal: Principal,
  { limit = 20, cursor: first, agent: agentId, tag }: PageRequest,
  most: number,
  take: (visible: readonly SessionSummary[]) => number | Promise<number>,
): Promise<{ readonly cursor?: string }> {
  let next = first === undefined ? {} : { cursor: first };
  let taken = 0;
  for (let looked = 0; looked < most;) {
    const wanted = { ...(agentId !== undefined && { agentId }), ...(tag !== undefined && { tag }) };
    const { sessions, cursor } = await journal.list({ limit: limit - taken, ...next, ...wanted });
    taken = await take(sessions.filter(({ sessionId }) => maySee(principal, sessionId)));
    looked += sessions.length;
    if (cursor === undefined) return {};
    next = { cursor };
    if (taken >= limit) break;
  }
  return next;
}
