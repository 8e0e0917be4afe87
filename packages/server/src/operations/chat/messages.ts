import type { JsonObject } from '@treadle/core';
import type { SessionState } from '@treadle/core/kernel';
import { remembered, resultId } from '../../encoders/ag-ui.ts';
import { resultText } from '../../encoders/stream-end.ts';
import type { ServerParts } from '../../parts.ts';
import { clientIdOf } from './replies.ts';
import { isContext } from './take-turn.ts';

/** Messages that a client sees as the user's. */
const SAID: ReadonlySet<string> = new Set(['prompt', 'steering', 'follow_up', 'import']);

/** The conversation as a client of AG-UI keeps it, with the client's own ids where the log has them. */
export async function chatMessages({ journal }: ServerParts, state: SessionState): Promise<JsonObject[]> {
  const { sessionId, view, run } = state;
  // Read before anything is waited for: the next question about the session changes it.
  const results = (run?.turn?.calls ?? []).flatMap(({ result }) => result ?? []);
  const messages = [...view, ...results.filter((result) => !view.includes(result))];
  const ids = new Map<string, string>();
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type !== 'input_received') continue;
    const id = clientIdOf(event.key);
    if (id !== null) ids.set(`input_${event.seq}`, id);
  }
  return messages.flatMap((message): JsonObject[] => {
    if (message.role === 'assistant') return remembered(message);
    if (message.role === 'tool') {
      const { callId, content, isError } = message;
      const text = resultText(content);
      return [
        { id: resultId(callId), role: 'tool', toolCallId: callId, content: text, ...(isError && { error: text }) },
      ];
    }
    if (message.role !== 'user' || !SAID.has(message.origin)) return [];
    const text = message.content.flatMap((block) => (block.type === 'text' && !isContext(block) ? [block.text] : []));
    return [{ id: ids.get(message.id) ?? message.id, role: 'user', content: text.join('\n') }];
  });
}
