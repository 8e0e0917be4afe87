import type { Blobs, DurableEvent, ImageBlock, Journal, Tool, ToolResultContent } from '../../index.ts';
import { recallTool } from '../../entries/context.ts';
import { readBlob } from '../../entries/ports.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  memoryBlobs,
  memoryJournal,
  openSession,
} from '../../index.ts';
import { scriptedModel, type ScriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

const BYTES = Uint8Array.from({ length: 60_000 }, (_, index) => (index * 31) % 251);
const DATA = Buffer.from(BYTES).toString('base64');
const IMAGE: ImageBlock = { type: 'image', mediaType: 'image/png', data: DATA };
const SMALL: ImageBlock = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' };

const toolOf = (execute: Tool['execute'], more: object = {}): Tool =>
  defineTool({
    name: 'make',
    description: 'Makes something.',
    inputSchema: { type: 'object', properties: {} },
    execute: (args, context) => execute?.(args, context) ?? '',
    ...more,
  });

const CALL = { toolCalls: [{ name: 'make', arguments: {} }] };

async function eventsOf(journal: Journal): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of journal.read('s', 1)) events.push(event);
  return events;
}

interface World {
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly model: ScriptedModel;
  readonly log: () => Promise<DurableEvent[]>;
}

/** A session whose agent has one tool, and blobs. */
async function world(
  script: Parameters<typeof scriptedModel>[0],
  tools: readonly Tool[] = [],
  blobs: Blobs = memoryBlobs(),
) {
  const journal = memoryJournal();
  const model = scriptedModel(script);
  const agent = defineAgent({ model, tools, maxToolResultLength: 1000 });
  const session = await createSession(agent, { id: 's', journal, blobs });
  const log = () => eventsOf(journal);
  return { journal, blobs, model, agent, session, log } satisfies World & Record<string, unknown>;
}

/** The last message that the model was sent. */
const lastSent = (model: ScriptedModel, request: number): readonly unknown[] => {
  const message = model.requests[request]?.messages.at(-1);
  return message ? message.content : [];
};

const largest = (events: readonly DurableEvent[]): number =>
  Math.max(...events.map((event) => JSON.stringify(event).length));

const resultText = (content: readonly ToolResultContent[]): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

async function endOf(log: () => Promise<DurableEvent[]>) {
  const ended = (await log()).find((event) => event.type === 'tool_ended');
  if (ended?.type !== 'tool_ended') throw new Error('no tool has ended');
  return ended;
}

describe('a large image', () => {
  it('of a prompt is a reference in the log and itself for the model', async () => {
    const { session, model, log, blobs } = await world(['I see.', 'Still.']);
    await session.prompt([{ type: 'text', text: 'What is this?' }, IMAGE, SMALL]).result;
    await session.prompt('And now?').result;
    const events = await log();
    expect(largest(events)).toBeLessThan(3000);
    const added = events.flatMap((event) => (event.type === 'message_added' ? [event.message] : []));
    const [, image, small] = added[0]?.role === 'user' ? added[0].content : [];
    expect(image).toEqual({
      type: 'image',
      mediaType: 'image/png',
      blob: { id: expect.stringMatching(/^sha256-/) as string, size: 60_000 },
    });
    expect(small).toEqual(SMALL);
    expect(await readBlob(blobs, image?.type === 'image' ? (image.blob?.id ?? '') : '')).toEqual(BYTES);
    expect(lastSent(model, 0)).toEqual([{ type: 'text', text: 'What is this?' }, IMAGE, SMALL]);
    // The same message, not one like it: what a wire has made of it is still good.
    expect(model.requests[1]?.messages[0]).toBe(model.requests[0]?.messages[0]);
  });

  it('is itself in the log when the session has no blobs', async () => {
    const journal = memoryJournal();
    const session = await createSession(defineAgent({ model: scriptedModel(['I see.']) }), { id: 's', journal });
    await session.prompt([IMAGE]).result;
    expect(largest(await eventsOf(journal))).toBeGreaterThan(DATA.length);
  });

  it.each([
    ['is steered in', { steer: true }],
    ['follows up', { steer: false }],
  ])('that %s is kept apart too', async (_, { steer }) => {
    const { session, model, log } = await world(['One.', 'Two.']);
    await (steer ? session.steer([IMAGE]) : session.followUp([IMAGE]));
    await session.prompt('Go.').result;
    expect(largest(await log())).toBeLessThan(3000);
    expect(model.requests.flatMap(({ messages }) => messages).flatMap(({ content }) => content)).toContainEqual(IMAGE);
  });

  it.each<[string, () => ToolResultContent[]]>([
    ['an image', () => [{ type: 'text', text: 'Here.' }, IMAGE]],
    ['a file', () => [{ type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: DATA }]],
  ])('of a tool, as %s, is kept apart too, and told after a restart', async (_, content) => {
    const { session, model, log, journal, blobs } = await world([CALL, 'Seen.'], [toolOf(() => content())]);
    await session.prompt('Make one.').result;
    expect(largest(await log())).toBeLessThan(3000);
    expect(lastSent(model, 1)).toEqual(content());
    const again = scriptedModel(['Yes.']);
    await (await openSession(defineAgent({ model: again }), 's', { journal, blobs })).prompt('Sure?').result;
    expect(again.requests[0]?.messages.find(({ role }) => role === 'tool')?.content).toEqual(content());
  });

  it('among the files of a result, and from a client, is kept apart too', async () => {
    const file = { type: 'file', mediaType: 'text/csv', data: DATA } as const;
    const first = await world([CALL, 'Ok.'], [toolOf(() => ({ content: 'Made.', files: [file] }))]);
    await first.session.prompt('Go.').result;
    expect((await endOf(first.log)).files?.[0]?.blob?.size).toBe(60_000);

    const client = defineTool({ name: 'make', description: 'x', inputSchema: { type: 'object' }, runs: 'client' });
    const { session, log, model } = await world([CALL, 'Ok.'], [client]);
    await session.prompt('Go.').result;
    const [pending] = (await log()).flatMap((event) => (event.type === 'run_paused' ? event.pending : []));
    await session.addToolOutputs([{ callId: pending?.callId ?? '', content: [IMAGE] }]).result;
    expect(largest(await log())).toBeLessThan(3000);
    expect(lastSent(model, 1)).toEqual([IMAGE]);
  });

  it('of an imported conversation is kept apart too', async () => {
    const { session, log, model } = await world(['Ok.']);
    await session.importMessages([{ role: 'user', content: [IMAGE] }]);
    await session.continue().result;
    expect(largest(await log())).toBeLessThan(3000);
    expect(lastSent(model, 0)).toEqual([IMAGE]);
    expect(session.exportMessages()[0]).toMatchObject({ content: [{ type: 'image', blob: { size: 60_000 } }] });
  });

  it('that is gone is replaced by words, and a person is told; the run goes on', async () => {
    const { session, log, journal } = await world(['I see.']);
    await session.prompt([IMAGE]).result;
    const before = await log();
    for (const blobs of [memoryBlobs(), undefined]) {
      const model = scriptedModel(['Hm.']);
      const reopened = await openSession(defineAgent({ model }), 's', { journal, ...(blobs ? { blobs } : {}) });
      const warnings: string[] = [];
      reopened.subscribe((event) => void (event.type === 'warning' && warnings.push(event.code)));
      expect((await reopened.prompt('And?').result).text).toBe('Hm.');
      expect(model.requests[0]?.messages[0]?.content).toEqual([
        { type: 'text', text: "[The image (image/png) that was here can't be read any more.]" },
      ]);
      expect(warnings).toEqual(['blob_failed']);
    }
    expect((await log()).slice(0, before.length)).toEqual(before);
  });

  it('stays in the log when it can not be kept apart', async () => {
    const full: Blobs = { ...memoryBlobs(), put: () => Promise.reject(new Error('the disk is full')) };
    const { session, model, log } = await world([CALL, 'Seen.'], [toolOf(() => [IMAGE])], full);
    expect((await session.prompt('Make one.').result).text).toBe('Seen.');
    expect(largest(await log())).toBeGreaterThan(DATA.length);
    expect(lastSent(model, 1)).toMatchObject([IMAGE, { text: expect.stringContaining('the disk is full') as string }]);
  });

  it('is refused as a blob that is none', async () => {
    const { session } = await world([]);
    const image = { type: 'image', mediaType: 'image/png', blob: { id: '../x', size: 1 } };
    await expect(session.importMessages([{ role: 'user', content: [image] }])).rejects.toMatchObject({
      code: 'invalid_messages',
    });
  });
});

const LINES = Array.from({ length: 2000 }, (_, index) => `line ${index + 1} 😀`).join('\n');

describe('a result that is too long', () => {
  it('T4: is cut in the middle for the model, and kept whole', async () => {
    const { session, log, blobs } = await world([CALL, 'Ok.'], [toolOf(() => LINES)]);
    await session.prompt('Go.').result;
    const [block] = (await endOf(log)).content;
    if (block?.type !== 'text' || !block.whole) throw new Error('the whole is not named');
    expect(block.text.startsWith('line 1 ')).toBe(true);
    expect(block.text.endsWith('line 2000 😀')).toBe(true);
    expect(block.text.length).toBeLessThan(1200);
    expect(block.text).toContain(`all ${LINES.length} are kept: read them with recall, handle ${block.whole.id} …]`);
    expect(new TextDecoder().decode(await readBlob(blobs, block.whole.id))).toBe(LINES);
  });

  it('can be read back by the model, by the handle it is told or the id of the call', async () => {
    let handle = '';
    let callId = '';
    const recall = (args: object) => ({ toolCalls: [{ name: 'recall', arguments: { handle, ...args } }] });
    const { session, model, log } = await world(
      [
        CALL,
        ({ messages }) => {
          const said = messages.at(-1);
          if (said?.role === 'tool') callId = said.callId;
          handle = /handle (\S+) …/.exec(said?.role === 'tool' ? resultText(said.content) : '')?.[1] ?? '';
          return recall({ offset: 9000, limit: 20 });
        },
        () => recall({ search: 'LINE 777 ' }),
        () => recall({ handle: callId, search: 'line 1999' }),
        () => recall({ search: 'no such line' }),
        () => recall({ offset: 99_999 }),
        'Ok.',
      ],
      [toolOf(() => LINES), recallTool()],
    );
    expect((await session.prompt('Go.').result).text).toBe('Ok.');
    const said = (await log()).flatMap((event) =>
      event.type === 'tool_ended' && event.toolName === 'recall' ? [resultText(event.content)] : [],
    );
    expect(said).toEqual([
      `[Characters 9000 to 9020 of ${LINES.length}. Go on with offset 9020.]\n${LINES.slice(9000, 9020)}`,
      '777: line 777 😀',
      '1999: line 1999 😀',
      'No line contains "no such line".',
      `There are only ${LINES.length} characters.`,
    ]);
    expect(model.requests).toHaveLength(7);
  });

  it('says so when it can not be kept, and is cut all the same', async () => {
    const full: Blobs = { ...memoryBlobs(), put: () => Promise.reject(new Error('the disk is full')) };
    const { session, log } = await world([CALL, 'Ok.'], [toolOf(() => LINES)], full);
    await session.prompt('Go.').result;
    const { content, isError } = await endOf(log);
    expect(resultText(content)).toContain('characters cut out; they could not be kept: the disk is full …]');
    expect(isError).toBe(false);
  });

  it('is the same result each time, so that a run that gets nowhere is noticed', async () => {
    const { session } = await world(
      Array.from({ length: 20 }, () => CALL),
      [toolOf(() => LINES)],
    );
    expect((await session.prompt('Go.').result).status).toBe('loop_detected');
  });
});

describe('a tool that streams', () => {
  const encoder = new TextEncoder();
  async function* slowly(pieces: readonly (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
    for (const piece of pieces) {
      await Promise.resolve();
      yield piece;
    }
  }

  it.each([[memoryBlobs()], [undefined]])('gives its text, however it was cut into pieces', async (blobs) => {
    const bytes = encoder.encode('grüße 😀 end');
    const pieces = ['a', ...Array.from(bytes, (byte) => Uint8Array.of(byte)), '\ud83d', '\ude00', ''];
    const journal = memoryJournal();
    const agent = defineAgent({ model: scriptedModel([CALL, 'Ok.']), tools: [toolOf(() => slowly(pieces))] });
    const session = await createSession(agent, { id: 's', journal, ...(blobs ? { blobs } : {}) });
    await session.prompt('Go.').result;
    const { content } = await endOf(() => eventsOf(journal));
    expect(resultText(content)).toMatch(/^agrüße 😀 end/);
  });

  it('has the middle of a long text cut out, and the whole kept where there are blobs', async () => {
    const pieces = LINES.match(/[\s\S]{1,777}/g) ?? [];
    const { session, log, blobs } = await world([CALL, 'Ok.'], [toolOf(() => slowly(pieces))]);
    await session.prompt('Go.').result;
    const [block] = (await endOf(log)).content;
    if (block?.type !== 'text') throw new Error('no text');
    expect(block.text).toBe(
      `${LINES.slice(0, 500)}\n[… ${LINES.length - 1000} characters cut out; all ${LINES.length} are kept: read them with recall, handle ` +
        `${block.whole?.id} …]\n${LINES.slice(-500)}`,
    );
    expect(new TextDecoder().decode(await readBlob(blobs, block.whole?.id ?? ''))).toBe(LINES);
  });

  it('fails with its stream', async () => {
    async function* failing(): AsyncGenerator<string> {
      yield LINES;
      await Promise.resolve();
      throw new Error('the pipe broke');
    }
    const { session, log } = await world([CALL, 'Ok.'], [toolOf(() => failing())]);
    await session.prompt('Go.').result;
    expect(await endOf(log)).toMatchObject({ isError: true, content: [{ text: 'make failed: the pipe broke' }] });
  });

  it('T2: is ended when its call is, and what it said by then is told', async () => {
    let closed = false;
    let more = (): void => {};
    async function* endless(signal: AbortSignal): AsyncGenerator<string> {
      try {
        yield 'said by then';
        await new Promise<void>((resolve) => {
          more = resolve;
          signal.addEventListener('abort', () => resolve());
        });
        for (;;) yield 'more';
      } finally {
        closed = true;
      }
    }
    const { session, log } = await world([CALL], [toolOf((_, { signal }) => endless(signal))]);
    const run = session.prompt('Go.');
    for await (const event of run) {
      if (isDurable(event) && event.type === 'tool_started') setImmediate(() => void session.abort());
    }
    more();
    expect(closed).toBe(true);
    expect((await run.result).status).toBe('aborted');
    expect(JSON.stringify(await endOf(log))).toContain('said by then');
  });
});
