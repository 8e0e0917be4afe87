import { isStopToolName, stopToolText } from '../tools/stop-tool-names.ts';
import type { AssistantContent } from './content.ts';
import { isConversation, type Message } from './message.ts';

/**
 * A view as a conversation: what was said and done, without what the runtime told the model. A call of a built-in terminal
 * tool is what it says to the user, and its result is left out.
 */
export function conversationOf(view: readonly Message[]): Message[] {
  const spoken = new Set<string>();
  return view.flatMap((message): Message[] => {
    if (message.role === 'user') return isConversation(message) ? [message] : [];
    if (message.role === 'tool') return spoken.has(message.callId) && !message.isError ? [] : [message];
    if (message.role !== 'assistant') return [message];
    if (!message.content.some((block) => block.type === 'tool_call' && isStopToolName(block.name))) return [message];
    const failed = failedCalls(view, message.content);
    const content = message.content.map((block): AssistantContent => {
      const said =
        block.type === 'tool_call' && !failed.has(block.callId) ? stopToolText(block.name, block.arguments) : null;
      if (block.type !== 'tool_call' || said === null) return block;
      spoken.add(block.callId);
      return { type: 'text', text: said };
    });
    return [{ ...message, content }];
  });
}

/** Calls of these blocks that came to nothing: they said nothing to anybody. */
function failedCalls(view: readonly Message[], content: readonly AssistantContent[]): ReadonlySet<string> {
  const ids = new Set(content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : [])));
  return new Set(
    view.flatMap((message) =>
      message.role === 'tool' && message.isError && ids.has(message.callId) ? [message.callId] : [],
    ),
  );
}
