import type { ModelRequest } from '@treadle/core/model';
import { shortId } from '../shared/call-ids.ts';

/** Characters a `prompt_cache_key` may have. */
const LONGEST = 64;

/** The session as a `prompt_cache_key`; undefined when there is none, or when nothing is to be cached. */
export function promptCacheKey({ sessionId, cache }: ModelRequest): string | undefined {
  if (sessionId === undefined || cache === 'off') return undefined;
  return sessionId.length <= LONGEST ? sessionId : `${sessionId.slice(0, LONGEST - 10)}-${shortId(sessionId)}`;
}
