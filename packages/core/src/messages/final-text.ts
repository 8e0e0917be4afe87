import type { AssistantMessage, UserMessage, UserMessageOrigin } from './message.ts';

/** The text after a reply's last tool block. */
export function finalText(message: AssistantMessage | null): string {
  let text = '';
  for (const block of message?.content ?? []) {
    if (block.type === 'text') text += block.text;
    else if (TOOL_BLOCKS.has(block.type)) text = '';
  }
  return text;
}

/** Whether there is any, without putting it together. */
export function hasFinalText(message: AssistantMessage | null): boolean {
  let has = false;
  for (const block of message?.content ?? []) {
    if (block.type === 'text') has ||= block.text !== '';
    else if (TOOL_BLOCKS.has(block.type)) has = false;
  }
  return has;
}

const TOOL_BLOCKS: ReadonlySet<string> = new Set(['tool_call', 'provider_tool_call', 'provider_tool_result']);

/** The texts among some blocks, in their order. */
export const textsOf = (content: readonly { readonly type: string; readonly text?: string }[]): string[] =>
  content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []));

/** A message of one text. */
export const userText = (id: string, at: number, origin: UserMessageOrigin, text: string): UserMessage => ({
  role: 'user',
  id,
  at,
  origin,
  content: [{ type: 'text', text }],
});
