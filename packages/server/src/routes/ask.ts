import type { Accepted, Ask } from '../operations/post.ts';
import { jsonResponse, type RouteCall } from './serving/route.ts';

/** How a request counts: keys of different tokens are different keys, and what has none is a request of its own. */
export function keyOf({
  parts,
  key,
  principal,
}: Pick<RouteCall, 'parts' | 'key' | 'principal'>): Omit<Ask, 'sessionId'> {
  return { key: key === null ? parts.ids.create('http') : `http:${principal.name}:${key}` };
}

export const sessionOf = ({ path }: RouteCall): string => path['sessionId'] ?? '';

export const askOf = (call: RouteCall): Ask => ({ sessionId: sessionOf(call), ...keyOf(call) });

export const accepted = ({ inputSeq, duplicate }: Accepted): Response => jsonResponse({ inputSeq, duplicate }, 202);

/** What was there already, and needed nothing. */
export const nothingToDo = (): Response => jsonResponse({ duplicate: false }, 202);
