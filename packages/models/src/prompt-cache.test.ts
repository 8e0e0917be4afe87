import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  type CacheHints,
  type ContextOptions,
  type JsonObject,
  type JsonValue,
  type Model,
} from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { logOf, scriptedModel, testClock } from '@treadle/testing';
import { anthropicMessages } from './protocols/anthropic/protocol.ts';
import { bedrockConverse } from './protocols/bedrock/protocol.ts';
import { gemini } from './protocols/gemini/protocol.ts';
import { openaiResponses } from './protocols/openai-responses/protocol.ts';
import type { Protocol } from './protocols/shared/protocol.ts';
import { bodyText } from './test-support/body.ts';

// What a long run costs at a provider that keeps prompts for five minutes where it is told to: what it reads from there is
// billed at a tenth, what it puts there at five quarters. The requests are the wire's own, with its own marks; only the
// provider's side of the bargain is simulated, and time stands still unless a model call takes it.

const READ = 0.1;
const WRITE = 1.25;
const LIFE_MS = 5 * 60_000;
/** A provider looks so many blocks back from a mark for something it has kept. */
const LOOK_BACK = 20;
/** A shorter prefix isn't kept. */
const LEAST_TOKENS = 1024;

interface Block {
  /** Of this block and everything before it. */
  readonly prefix: string;
  readonly tokens: number;
  readonly isMarked: boolean;
}

const list = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : [];

/** Where a wire has the parts of its prompt, in the order in which providers read them, and what a mark looks like. */
interface Wire {
  readonly protocol: Protocol;
  readonly model: string;
  parts(body: JsonObject): readonly JsonValue[];
  /** The mark inside of a block; where it is a block of its own, all of it. */
  readonly mark: string;
  /** The provider keeps every prompt by itself. */
  readonly keepsAll?: boolean;
}

const inside = (messages: JsonValue | undefined, field: string): JsonValue[] =>
  list(messages)
    .filter(isJsonObject)
    .flatMap((message) => list(message[field]).map((block) => ({ role: message['role'] ?? '', block })));

const field = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) ? value[name] : undefined;

const ANTHROPIC: Wire = {
  protocol: anthropicMessages(),
  model: 'claude-sonnet-5-5',
  parts: (body) => [...list(body['tools']), ...list(body['system']), ...inside(body['messages'], 'content')],
  mark: ',"cache_control":{"type":"ephemeral"}',
};

const WIRES: Readonly<Record<string, Wire>> = {
  anthropic: ANTHROPIC,
  bedrock: {
    protocol: bedrockConverse(),
    model: 'us.anthropic.claude-sonnet-5-5',
    parts: (body) => [
      ...list(field(body['toolConfig'], 'tools')),
      ...list(body['system']),
      ...inside(body['messages'], 'content'),
    ],
    mark: '{"cachePoint":{"type":"default"}}',
  },
  openai: {
    protocol: openaiResponses(),
    model: 'gpt-6.1-sol',
    parts: (body) => [...list(body['tools']), body['instructions'] ?? '', ...list(body['input'])],
    mark: 'none',
    keepsAll: true,
  },
  gemini: {
    protocol: gemini(),
    model: 'gemini-3.8-flash',
    parts: (body) => [...list(body['tools']), body['systemInstruction'] ?? '', ...inside(body['contents'], 'parts')],
    mark: 'none',
    keepsAll: true,
  },
};

/** A request's prompt. */
function blocksOf(body: JsonObject, { parts, mark, keepsAll = false }: Wire): Block[] {
  const blocks: Block[] = [];
  let before = '';
  for (const part of parts(body)) {
    const text = JSON.stringify(part);
    const last = blocks.at(-1);
    if (last && text.endsWith(mark === text ? mark : `"block":${mark}}`)) {
      blocks[blocks.length - 1] = { ...last, isMarked: true };
      continue;
    }
    const plain = text.replaceAll(mark, '');
    before = createHash('sha256').update(before).update(plain).digest('base64');
    blocks.push({ prefix: before, tokens: Math.ceil(plain.length / 4), isMarked: keepsAll || plain !== text });
  }
  return blocks;
}

const sum = (blocks: readonly Block[]): number => blocks.reduce((tokens, block) => tokens + block.tokens, 0);

/** What a request costs, in tokens at full price. */
interface Biller {
  bill(blocks: readonly Block[], now: number): number;
}

/** A provider with a cache. */
function provider(): Biller {
  const kept = new Map<string, number>();
  return {
    bill(blocks, now) {
      const marks = blocks.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
      const isKept = (index: number): boolean => (kept.get(blocks[index]?.prefix ?? '') ?? 0) > now;
      let hit = -1;
      for (const mark of marks) {
        for (let at = mark; at >= 0 && at > mark - LOOK_BACK; at--) if (isKept(at)) hit = Math.max(hit, at);
      }
      const last = marks.at(-1) ?? -1;
      for (const index of [...marks, hit]) {
        const block = blocks[index];
        if (block && sum(blocks.slice(0, index + 1)) >= LEAST_TOKENS) kept.set(block.prefix, now + LIFE_MS);
      }
      const read = sum(blocks.slice(0, hit + 1));
      const written = sum(blocks.slice(hit + 1, last + 1));
      return READ * read + WRITE * written + sum(blocks.slice(Math.max(hit, last) + 1));
    },
  };
}

/** The best there could be for a run: all that any request before began with is read, the rest is written, and nothing lapses. */
function optimum(): Biller {
  const seen = new Set<string>();
  return {
    bill(blocks) {
      const shared = blocks.findIndex(({ prefix }) => !seen.has(prefix));
      const at = shared < 0 ? blocks.length : shared;
      for (const { prefix } of blocks) seen.add(prefix);
      return READ * sum(blocks.slice(0, at)) + WRITE * sum(blocks.slice(at));
    },
  };
}

interface Bill {
  readonly real: number;
  readonly best: number;
  readonly compactions: number;
}

const CALL_MS = 20_000;

/** Plays a run of so many turns with a tool call each, and bills its requests. */
async function bills(
  turns: number,
  context: ContextOptions,
  cache: CacheHints = 'auto',
  wire: Wire = ANTHROPIC,
  runs = 1,
): Promise<Bill> {
  const clock = testClock();
  const encode = wire.protocol.createEncoder({ provider: 'own', modelId: wire.model });
  const billed = provider();
  let ideal = optimum();
  let real = 0;
  let best = 0;
  let turn = 0;
  const inner = scriptedModel(
    async (request) => {
      await clock.advance(CALL_MS);
      const last = request.messages.at(-1);
      if (last?.role === 'user' && last.origin === 'compaction') return { text: 'In short: '.repeat(40), usage: null };
      if (turn === turns) return { text: 'Done.', usage: null };
      return { text: `Step ${turn}.`, toolCalls: [{ name: 'look', arguments: { at: turn++ } }], usage: null };
    },
    { provider: 'own', record: false, chunkSize: Number.POSITIVE_INFINITY },
  );
  const model: Model = {
    ...inner,
    stream(request, signal) {
      const blocks = blocksOf(JSON.parse(bodyText(encode(request).body)) as JsonObject, wire);
      real += billed.bill(blocks, clock.now());
      best += ideal.bill(blocks, clock.now());
      return inner.stream(request, signal);
    },
  };
  const look = defineTool({
    name: 'look',
    description: 'Looks around.',
    inputSchema: { type: 'object', properties: { at: { type: 'integer' } }, required: ['at'] },
    execute: ({ at }) => `Place ${at}: ${'all is well; '.repeat(40)}`,
  });
  const limits = { maxTurns: 2 * turns, maxTotalTokens: Infinity, maxDurationMs: Infinity };
  const agent = defineAgent({
    model,
    tools: [look],
    instructions: 'You explore. '.repeat(200),
    limits,
    context,
    cache,
  });
  const journal = memoryJournal();
  let compactions = 0;
  for (let run = 0; run < runs; run += 1) {
    turn = 0;
    ideal = optimum();
    const session = await createSession(agent, { journal, clock, id: `s${run}` });
    const result = await session.prompt('Look everywhere.').result;
    expect(result).toMatchObject({ status: 'completed', turns: turns + 1 });
    compactions += (await logOf(journal, `s${run}`)).filter(({ type }) => type === 'compacted').length;
  }
  return { real, best, compactions };
}

describe('a run of 400 turns', () => {
  let whole: Bill;
  beforeAll(async () => {
    whole = await bills(400, { window: 1_000_000 });
  }, 60_000);

  it('that is never compacted is billed under 1.15 times of the best there could be', () => {
    expect(whole.compactions).toBe(0);
    expect(whole.real / whole.best).toBeLessThan(1.15);
  });

  it('that is compacted again and again is too, summaries included, and costs less than one that never is', async () => {
    const { real, best, compactions } = await bills(400, { window: 20_000 });
    expect(compactions).toBeGreaterThan(3);
    expect(real / best).toBeLessThan(1.15);
    expect(real).toBeLessThan(whole.best);
  });
});

describe.each(Object.entries(WIRES))('on %s', (_name, wire) => {
  it('ten runs of the same task, 400 turns in all, are billed at most 1.05 times of the best there could be', async () => {
    const { real, best, compactions } = await bills(39, { window: 1_000_000 }, 'auto', wire, 10);
    expect(compactions).toBe(0);
    expect(real / best).toBeLessThanOrEqual(1.05);
  });

  it('one run of 200 turns is too', async () => {
    const { real, best } = await bills(199, { window: 1_000_000 }, 'auto', wire);
    expect(real / best).toBeLessThanOrEqual(1.05);
  });
});

describe('the bill', () => {
  it('notices a run whose prompts are not kept', async () => {
    const { real, best } = await bills(40, { window: 1_000_000 }, 'off');
    expect(real / best).toBeGreaterThan(3);
  });
});
