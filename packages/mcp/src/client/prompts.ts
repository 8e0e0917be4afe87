import type { PromptMessage } from '@modelcontextprotocol/client';
import type { UserContent } from '@treadle/core';
import type { MessageInput } from '@treadle/core/session';

import { blockOf } from '../tools/result.ts';

/** A prompt that a server offers, for people to choose. */
export interface McpPrompt {
  readonly server: string;
  readonly name: string;
  /** As a command: `mcp__{server}__{prompt}`. */
  readonly command: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
}

/**
 * A server's prompt as input for a session. What it has the assistant say is told as a quotation: history is what happened,
 * and a server can't write it.
 */
export const promptInput = (messages: readonly PromptMessage[]): MessageInput[] =>
  messages.map(({ role, content }) => {
    const block: UserContent = blockOf(content);
    if (role === 'user') return { content: [block] };
    return { content: [{ type: 'text', text: 'The assistant is to say first:' }, block] };
  });
