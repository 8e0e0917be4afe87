import type { DurableEventBody } from '../../events/events.ts';
import type { UserContent } from '../../messages/content.ts';
import type { UserMessage } from '../../messages/message.ts';

/** A message that is no part of the conversation. */
export function contextMessage(
  runId: string,
  at: number,
  origin: 'instructions' | 'memory',
  content: readonly UserContent[],
): DurableEventBody {
  const pinned = origin === 'instructions' ? { pinned: true } : {};
  const message: UserMessage = { role: 'user', id: contextMessageId(runId, origin), at, origin, content, ...pinned };
  return { type: 'message_added', at, runId, inView: true, message };
}

export const contextMessageId = (runId: string, origin: string): string => `${runId}.${origin}`;
