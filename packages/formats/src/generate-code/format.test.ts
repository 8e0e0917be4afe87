import { createSession, defineAgent, defineTool, systemClock, type TreadleEvent } from '@treadle/core';
import { countingIds, scriptedModel, type Turn } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeAll, type StreamEnd } from '@treadle/server';
import { generateCodeFormat, type GenerateCodeMessage, type GenerateCodeOptions } from './format.ts';
import { extractHtml } from './text.ts';

const createFile = defineTool({
  name: 'create_file',
  description: 'Writes the file.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['content'],
  },
  execute: ({ content }) => {
    if (content.includes('forbidden')) throw new Error('It is refused.');
    return {
      content: 'Created.',
      details: { updatedContent: content, summary: { lines: content.split('\n').length } },
    };
  },
});

async function eventsOf(script: readonly Turn[], chunkSize = 16): Promise<TreadleEvent[]> {
  const session = await createSession(
    defineAgent({
      model: scriptedModel(script, { chunkSize }),
      tools: [createFile],
      retry: { initialDelayMs: 0, maxDelayMs: 0, afterText: true },
    }),
    { id: 's1', ids: countingIds(), clock: { ...systemClock, now: () => 0 }, random: () => 0 },
  );
  const events: TreadleEvent[] = [];
  session.subscribe((event) => {
    events.push(event);
  });
  await session.prompt('A page.').result;
  return events;
}

function messagesOf(
  events: readonly TreadleEvent[],
  options: GenerateCodeOptions = { variantIndex: 1 },
  end: StreamEnd = { reason: 'finished' },
): GenerateCodeMessage[] {
  const frames = encodeAll(generateCodeFormat(options), { sessionId: 's1', resumed: false }, events, end);
  return frames.map(({ data }) => JSON.parse(data) as GenerateCodeMessage);
}

const play = async (script: readonly Turn[], chunkSize?: number, options?: GenerateCodeOptions) =>
  messagesOf(await eventsOf(script, chunkSize), options);

const codesOf = (messages: readonly GenerateCodeMessage[]): string[] =>
  messages.flatMap(({ type, value }) => (type === 'setCode' ? [value ?? ''] : []));

const writes = (content: string): Turn => ({ toolCalls: [{ name: 'create_file', arguments: { content } }] });

const page = `<!doctype html><html><body>${'<p>A line of text.</p>\n'.repeat(20)}</body></html>`;

describe('a variant', () => {
  it('begins with its status, and ends with its code and exactly one end', async () => {
    const messages = await play([{ thinking: 'Simple.', text: 'I write it.', ...writes(page) }, 'Done.'].map(asTurn));
    expect(messages[0]).toEqual({ type: 'status', variantIndex: 1, value: 'Generating code…' });
    expect(messages.slice(-2)).toEqual([
      { type: 'setCode', variantIndex: 1, value: page },
      { type: 'variantComplete', variantIndex: 1, value: 'The variant is complete.' },
    ]);
    expect(messages.filter(({ type }) => type.startsWith('variant'))).toHaveLength(1);
    expect(new Set(messages.map(({ variantIndex }) => variantIndex))).toEqual(new Set([1]));
  });

  it('is written as its golden file says', async () => {
    const script = [
      { thinking: 'Simple.', text: 'I write it.', ...writes(page) },
      writes('<p>forbidden</p>'),
      asTurn('Done.'),
    ];
    const messages = await play(script, 12);
    const lines = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
    await expect(lines).toMatchFileSnapshot('golden/generate-code-file.txt');
  });

  it('tells of a file at once, then each time it has grown by 40 characters, before the call is made', async () => {
    const messages = await play([writes(page), asTurn('Done.')], 4);
    const start = messages.findIndex(({ type }) => type === 'toolStart');
    const result = messages.findIndex(({ type }) => type === 'toolResult');
    const previews = codesOf(messages.slice(start, result));
    expect(previews.length).toBeGreaterThan(8);
    expect(previews[0]?.length).toBeLessThan(10);
    const growth = previews.slice(1, -1).map((code, at) => code.length - (previews[at]?.length ?? 0));
    expect(Math.min(...growth)).toBeGreaterThanOrEqual(40);
    expect(Math.max(...growth)).toBeLessThan(50);
    expect(previews.at(-1)).toBe(page);
    expect(messages[result]?.data).toEqual({ name: 'create_file', output: { lines: 21 }, ok: true });
  });

  it('tells of a long file in messages that are a bounded multiple of it, and not its square', async () => {
    const long = 'x'.repeat(200_000);
    const codes = codesOf(await play([writes(long), asTurn('Done.')], 40));
    const sent = codes.reduce((sum, code) => sum + code.length, 0);
    expect(codes.length).toBeGreaterThan(100);
    expect(sent / long.length).toBeLessThan(40);
  });

  it('shows only beginnings of what the whole file is, however its arguments are cut', async () => {
    const content = fc.string({
      unit: fc.constantFrom('a', '"', '\\', '\n', '🧵', '<', 'é'),
      minLength: 1,
      maxLength: 300,
    });
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 50 }), async (code, chunkSize) => {
        fc.pre(code !== '');
        const codes = codesOf(await play([writes(code), asTurn('Done.')], chunkSize));
        expect(codes.at(-1)).toBe(code);
        for (const shown of codes) expect(code.startsWith(shown)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it('gives the deltas of one text one id, and those of another another', async () => {
    const messages = await play(
      [{ text: 'I write it now, slowly.', ...writes(page) }, asTurn('And that is it, done.')],
      5,
    );
    const ids = messages.flatMap(({ type, eventId }) => (type === 'assistant' ? [eventId] : []));
    expect(ids.length).toBeGreaterThan(6);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^assistant-1-[0-9a-f]{8}$/);
    const call = messages.flatMap(({ type, eventId }) => (type.startsWith('tool') ? [eventId] : []));
    expect(call).toEqual(['call_1', 'call_1']);
  });

  it('C27: names a call by an id of its own, also where a provider gives all its calls the same', async () => {
    const asked = (content: string): Turn => ({
      toolCalls: [{ providerCallId: 'google-fc-0', name: 'create_file', arguments: { content } }],
    });
    const messages = await play([asked('<p>One</p>'), asked('<p>Two</p>'), asTurn('Done.')]);
    const ids = messages.flatMap(({ type, eventId }) =>
      type === 'toolStart' || type === 'toolResult' ? [eventId] : [],
    );
    expect(ids).toEqual([ids[0], ids[0], ids[2], ids[2]]);
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain('google-fc-0');
  });

  it('closes a call that was shown and never made, and begins anew when the model call is made again', async () => {
    const error = { kind: 'network', message: 'Gone.', retryable: true, afterDeltas: 12 } as const;
    const messages = await play([{ ...writes(page), error }, writes('<p>Second</p>'), asTurn('Done.')]);
    const tools = messages
      .filter(({ type }) => type.startsWith('tool'))
      .map(({ type, eventId, data }) => [type, eventId, data?.['ok']]);
    expect(tools).toEqual([
      ['toolStart', tools[0]?.[1], undefined],
      ['toolResult', tools[0]?.[1], false],
      ['toolStart', tools[2]?.[1], undefined],
      ['toolResult', tools[2]?.[1], true],
    ]);
    expect(codesOf(messages).at(-1)).toBe('<p>Second</p>');
  });

  it('goes back to the last good file when a call that was shown is refused', async () => {
    const messages = await play([writes('<p>Good</p>'), writes('<p>forbidden</p>'), asTurn('Done.')]);
    expect(codesOf(messages).slice(-3)).toEqual(['<p>forbidden</p>', '<p>Good</p>', '<p>Good</p>']);
    expect(messages.filter(({ type }) => type === 'toolResult').map(({ data }) => data?.['ok'])).toEqual([true, false]);
  });

  it('takes the page from the answer when no file was written, and fails without one', async () => {
    const answered = await play([asTurn('Here it is:\n```html\n<h1>Hi</h1>\n```\nEnjoy.')]);
    expect(codesOf(answered)).toEqual(['<h1>Hi</h1>']);
    expect(answered.at(-1)?.type).toBe('variantComplete');
    const silent = await play([asTurn('I would rather not.')]);
    expect(silent.at(-1)).toEqual({ type: 'variantError', variantIndex: 1, value: 'The model wrote no page.' });
  });

  it('keeps the file it began with when its run fails', async () => {
    const error = { kind: 'auth', message: 'No such key.' } as const;
    const messages = await play([{ text: '', error }], 16, { variantIndex: 0, startCode: '<p>Before</p>' });
    expect(messages.slice(-2).map(({ type, value }) => [type, value])).toEqual([
      ['setCode', '<p>Before</p>'],
      ['variantError', 'No such key.'],
    ]);
  });

  it('ends when its stream does, though the run has not', async () => {
    const events = await eventsOf([writes(page), asTurn('Done.')]);
    const half = events.slice(
      0,
      events.findIndex(({ type }) => type === 'tool_started'),
    );
    const messages = messagesOf(half, { variantIndex: 0 }, { reason: 'draining' });
    expect(messages.slice(-2).map(({ type }) => type)).toEqual(['toolResult', 'variantError']);
    expect(messages.filter(({ type }) => type === 'variantError')).toHaveLength(1);
  });
});

function asTurn(turn: Turn | string): Turn {
  return typeof turn === 'string' ? { text: turn } : turn;
}

describe('the page in an answer', () => {
  it.each([
    ['Sure.\n<!DOCTYPE html>\n<html><body>1</body></html>\nBye.', '<!DOCTYPE html>\n<html><body>1</body></html>'],
    ['```html\n<html><p>1</html>\n```', '<html><p>1</html>'],
    ['```html\n<html><p>cut off\n```\nBye.', '<html><p>cut off'],
    ['```html\n<b>1</b>\n```', '<b>1</b>'],
    ['```html\n<b>cut', '<b>cut'],
    ['```js\nlet html;\n```', null],
    ['Nothing.', null],
  ])('of %j is %j', (text, page) => {
    expect(extractHtml(text)).toBe(page);
  });
});
