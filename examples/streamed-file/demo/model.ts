import type { Model } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { ModelRequest } from '@treadle/core/model';
import { scriptedModel, type Turn } from '@treadle/testing';
import { applyEdits } from '../file.ts';
import { changeOf } from './changes.ts';
import { copyFor } from './copy.ts';
import { DESIGNS, type Design } from './designs.ts';

/**
 * Models that need no key: each writes pages in a look of its own, with words that fit what was asked, and makes simple
 * changes. They are scripts; everything around them is what a language model has.
 *
 * @param chunkDelayMs milliseconds between two pieces of the stream, so that it can be watched
 */
export const demoModels = (chunkDelayMs = 12): [Model, ...Model[]] => {
  const of = (id: keyof typeof DESIGNS): Model =>
    scriptedModel((request) => ({ ...nextTurn(request, DESIGNS[id]), chunkDelayMs, chunkSize: 32 }), {
      provider: 'demo',
      id,
      record: false,
      cost: () => 0,
    });
  return [of('editorial'), of('midnight'), of('poster'), of('bento')];
};

const DONE =
  'That is the page of a demo model: a script, and no language model. Set GEMINI_API_KEY, ANTHROPIC_API_KEY or ' +
  'OPENAI_API_KEY for pages that a language model writes.';

function nextTurn({ messages, system }: ModelRequest, design: Design): Turn {
  const at = messages.findLastIndex((message) => message.role === 'user' && message.origin === 'prompt');
  const blocks = messages[at]?.content ?? [];
  // The request's own text comes last; the advice for language models comes before it.
  const asked = blocks.findLast((block) => block.type === 'text')?.text ?? '';
  const page = fileIn(messages);
  const answered = messages.slice(at).findLast(({ role }) => role === 'tool');
  const input = Math.ceil((system.length + JSON.stringify(messages).length) / 4);
  if (answered) return { text: page.done ?? DONE, usage: { input, output: 40 } };
  if (page.content === null) {
    const content = design(copyFor(asked));
    const toolCalls = [{ name: 'create_file', arguments: { content } }];
    return { text: 'I’ll write the page now.', toolCalls, usage: { input, output: Math.ceil(content.length / 4) } };
  }
  const { edits } = changeOf(page.content, asked);
  if (edits.length === 0) {
    return { text: 'The page is like that already, so I changed nothing.', usage: { input, output: 20 } };
  }
  const toolCalls = [{ name: 'edit_file', arguments: { edits: edits.map((edit) => ({ ...edit })) } }];
  return { text: 'I’ll change that.', toolCalls, usage: { input, output: 60 } };
}

/** The file as the conversation tells of it, and what the last change came to. */
function fileIn(messages: ModelRequest['messages']): { readonly content: string | null; readonly done: string | null } {
  let content: string | null = null;
  let done: string | null = null;
  for (const message of messages) {
    const given = message.role === 'user' ? message.content.map((block) => givenIn(block)).find(Boolean) : null;
    content = given ?? content;
    if (message.role !== 'assistant') continue;
    for (const block of message.content) {
      if (block.type !== 'tool_call' || !isJsonObject(block.arguments)) continue;
      const { content: written, edits } = block.arguments;
      if (typeof written === 'string') content = written;
      if (content === null || !Array.isArray(edits)) continue;
      const made = edits as { readonly old_text: string; readonly new_text: string }[];
      content = applyEdits(content, made);
      done = `I changed the page in ${made.length === 1 ? 'one place' : `${made.length} places`}.`;
    }
  }
  return { content, done };
}

const GIVEN = 'This is the file as it is now:\n\n';

const givenIn = (block: { readonly type: string; readonly text?: unknown }): string | null =>
  block.type === 'text' && typeof block.text === 'string' && block.text.startsWith(GIVEN)
    ? block.text.slice(GIVEN.length)
    : null;
