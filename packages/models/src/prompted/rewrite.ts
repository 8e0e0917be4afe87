import type {
  AssistantContent,
  AssistantMessage,
  ModelMessage,
  TextBlock,
  ToolCallBlock,
  ToolResultMessage,
  UserMessage,
} from '@treadle/core';
import { isNoCallReminder } from '@treadle/core/features';
import { isStopToolName } from '@treadle/core/tools';
import { callElement, type CallForm } from './element.ts';
import { serverToolOf } from './names.ts';
import { noCallRecovery, unknownToolRecovery, unreadableRecovery, type RecoveryFacts } from './recovery.ts';

/** Marks a thinking block that was the model's own text: it goes back as text. */
export const PROMPTED_TEXT = { prompted: true } as const;

/** Turns a history into what a model without tools can read. What it made of a message it makes of it again, by reference. */
export type Rewriter = (messages: readonly ModelMessage[], facts: RecoveryFacts) => ModelMessage[];

/** Makes the rewriter of one model. */
export function createRewriter(form: CallForm): Rewriter {
  /** Null for messages that are left out. */
  const written = new WeakMap<ModelMessage, ModelMessage | null>();
  return (messages, facts) => {
    let reply: AssistantMessage | null = null;
    return messages.flatMap((message) => {
      if (message.role === 'assistant') reply = message;
      let made = written.get(message);
      if (made === undefined) {
        made = rewrite(message, reply, form, facts);
        written.set(message, made);
      }
      return made === null ? [] : [made];
    });
  };
}

function rewrite(
  message: ModelMessage,
  reply: AssistantMessage | null,
  form: CallForm,
  facts: RecoveryFacts,
): ModelMessage | null {
  if (message.role === 'assistant') return rewriteReply(message, form);
  if (message.role === 'tool') return rewriteResult(message, reply, facts);
  return isNoCallReminder(message) ? withForm(message, facts) : message;
}

function rewriteReply(message: AssistantMessage, form: CallForm): AssistantMessage {
  if (!message.content.some((block) => block.type === 'tool_call' || isPromptedText(block))) return message;
  const content: AssistantContent[] = [];
  for (const block of message.content) {
    const made =
      block.type === 'tool_call' ? asText(callText(block, form)) : isPromptedText(block) ? asText(block.text) : block;
    const last = content.at(-1);
    // One text, as it was written: the parts of a reply are its own affair.
    if (made.type === 'text' && last && isPlain(made) && isPlain(last)) {
      content[content.length - 1] = asText(`${last.text}\n\n${made.text}`);
    } else content.push(made);
  }
  return { ...message, content, stopReason: message.stopReason === 'tool_use' ? 'stop' : message.stopReason };
}

const asText = (text: string): TextBlock => ({ type: 'text', text });

const isPlain = (block: AssistantContent): block is TextBlock =>
  block.type === 'text' && block.citations === undefined && block.opaque === undefined;

const isPromptedText = (block: AssistantContent): block is Extract<AssistantContent, { type: 'thinking' }> =>
  block.type === 'thinking' && block.opaque?.['prompted'] === true;

/** A call as it was written, or as it would have been. */
function callText({ name, arguments: args, argumentsText, problem }: ToolCallBlock, form: CallForm): string {
  if (problem !== undefined && argumentsText?.startsWith('<tool>') === true) return argumentsText;
  return callElement(name, args, form);
}

/** A result as a message of the user's; for a call that came to nothing, what helps to make a better one. */
function rewriteResult(
  message: ToolResultMessage,
  reply: AssistantMessage | null,
  facts: RecoveryFacts,
): UserMessage | null {
  if (isStopToolName(message.toolName) && !message.isError) return null;
  const { id, at, callId, toolName, content, isError } = message;
  const user = (blocks: UserMessage['content']): UserMessage => ({
    role: 'user',
    id,
    at,
    origin: 'reminder',
    content: blocks,
  });
  const call = reply?.content.find(
    (block): block is ToolCallBlock => block.type === 'tool_call' && block.callId === callId,
  );
  const said = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  if (call?.problem !== undefined) return user([asText(unreadableRecovery(call, said, facts))]);
  if (call && isError && !facts.toolNames.includes(call.name)) return user([asText(unknownToolRecovery(call, facts))]);
  const { server, tool } = serverToolOf(toolName);
  const head = `<tool_result>\n<server_name>${server}</server_name>\n<tool_name>${tool}</tool_name>\n`;
  const status = `<status>${isError ? 'error' : 'success'}</status>\n`;
  // Output that looks like the end of the result doesn't end it.
  const output = said.replaceAll('</output', '<\\/output').replaceAll('</tool_result', '<\\/tool_result');
  const media = content.filter((block) => block.type !== 'text');
  return user([asText(`${head}${status}<output>\n${output}\n</output>\n</tool_result>`), ...media]);
}

function withForm(message: UserMessage, facts: RecoveryFacts): UserMessage {
  const said = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  return { ...message, content: [asText(noCallRecovery(said, facts))] };
}
