import type { Model } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { scriptedModel, type Turn } from '@treadle/testing';

/**
 * A demo model that needs no key: it writes the same small page for every prompt. `titled "…"` and `with the text "…"` in
 * the prompt set the page's title and text.
 *
 * @param chunkDelayMs milliseconds between two pieces of the stream, so that it can be watched
 */
export function demoPages(chunkDelayMs = 15): Model {
  return scriptedModel((request) => ({ ...nextTurn(request), chunkDelayMs }), {
    provider: 'demo',
    id: 'pages',
    record: false,
  });
}

const DONE =
  'That is the page of a demo model: a script, and no language model. Set GEMINI_API_KEY, ANTHROPIC_API_KEY or ' +
  'OPENAI_API_KEY for pages that a language model writes.';

function nextTurn({ messages }: ModelRequest): Turn {
  const at = messages.findLastIndex((message) => message.role === 'user' && message.origin === 'prompt');
  if (messages.slice(at).some(({ role }) => role === 'tool')) return { text: DONE };
  const blocks = messages[at]?.content ?? [];
  // The request's own text comes last; the advice for language models comes before it.
  const asked = blocks.findLast((block) => block.type === 'text')?.text ?? '';
  return { text: 'Writing the page.', toolCalls: [{ name: 'create_file', arguments: { content: pageFor(asked) } }] };
}

function pageFor(asked: string): string {
  const title = /titled "([^"]+)"/i.exec(asked)?.[1] ?? 'Demo page';
  const text = /with the text "([^"]+)"/i.exec(asked)?.[1] ?? `You asked for: ${asked}`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escaped(title)}</title>
    <style>body { font-family: system-ui, sans-serif; margin: 3rem auto; max-width: 40rem; }</style>
  </head>
  <body>
    <h1>${escaped(title)}</h1>
    <p>${escaped(text)}</p>
  </body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
