import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { createSession, defineAgent, defineTool, memoryLedger, type Http } from '@treadle/core';
import { fakeProvider, type ProviderTurn, type Turn } from '@treadle/testing';
import { nodeHttp } from '../../packages/models/src/http/node-http.ts';
import { TEST_WIRES, type TestWire } from '../../packages/models/src/test-support/wires.ts';
import { playChecked } from './checked-run.ts';
import { fuzzed } from './fuzzed.ts';

// What comes from a provider, over real sockets: calls as a model may write them, and replies whose JSON was changed.

const act = () =>
  defineTool({ name: 'act', description: 'Acts.', inputSchema: { type: 'object' }, execute: () => 'done' });

const WIRES = new Map(TEST_WIRES.map((one) => [one.name, one]));

/** The name of a wire. */
const wire = fc.constantFrom(...WIRES.keys());

function wireCalled(name: string): TestWire {
  const found = WIRES.get(name);
  if (!found) throw new Error(`No wire is called ${name}`);
  return found;
}

/** Plays a run whose provider gives these turns, and then says that it is done. */
async function play(name: string, turns: readonly ProviderTurn[]): Promise<void> {
  const of = wireCalled(name);
  await using provider = await fakeProvider((_, at) => turns[at] ?? 'Done.', { validate: false });
  const model = of.model(provider, nodeHttp({ env: {} }));
  const agent = defineAgent({
    model: Object.assign(Object.create(model) as typeof model, { cost: () => 0.01 }),
    tools: [act()],
    limits: { maxTurns: 6 },
    budget: { ledger: memoryLedger(1000) },
    maxTokens: 100,
    retry: { maxRetries: 0 },
  });
  await playChecked({ agent });
}

const argumentsText = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.string({ maxLength: 40 }),
  fc.constantFrom(
    '',
    '{}',
    '{"__proto__":{"polluted":1}}',
    '{"a":1e999}',
    '{"a":"\\ud800"}',
    '[[[',
    'null',
    '{"a":1,"a":2}',
  ),
  fc
    .tuple(fc.constantFrom(10, 512, 513, 3000), fc.boolean())
    .map(([depth, list]) =>
      list ? `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}` : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    ),
);

const call = fc.record({
  name: fc.constantFrom('act', 'act', 'act', 'none', '', '__proto__', 'toString', 'x'.repeat(300)),
  argumentsText,
  providerCallId: fc.constantFrom('', 'c1', 'c1', 'ü'.repeat(100)),
});

const turn: fc.Arbitrary<Turn> = fc.record(
  {
    text: fc.string({ maxLength: 30 }),
    thinking: fc.string({ maxLength: 30 }),
    toolCalls: fc.array(call, { maxLength: 3 }),
    chunkSize: fc.constantFrom(1, 16, 100_000),
    usage: fc.record({
      input: fc.oneof(fc.double(), fc.integer(), fc.constant(null)),
      output: fc.oneof(fc.double(), fc.integer(), fc.constant(null)),
      cacheRead: fc.oneof(fc.integer(), fc.constant(null)),
      cacheWrite: fc.constant(null),
      reasoning: fc.oneof(fc.integer(), fc.constant(null)),
    }),
  },
  { requiredKeys: [] },
);

/** Calls with any arguments, and any usage, as each wire writes them. */
export const calls = fuzzed(fc.tuple(wire, fc.array(turn, { minLength: 1, maxLength: 3 })), ([name, turns]) =>
  play(name, turns),
);

const SCRIPT: readonly Turn[] = [
  {
    thinking: 'Hm.',
    text: 'Let me see.',
    toolCalls: [{ name: 'act', arguments: { path: 'a', n: [1] } }],
    chunkSize: 6,
  },
  { text: 'Only words.', chunkSize: 4, usage: { cacheRead: 3, reasoning: 1 } },
];

/** The bytes that a provider of this wire sends for each turn of the script. */
async function bodiesOf(of: TestWire): Promise<readonly Buffer[]> {
  const bodies: Buffer[] = [];
  const real = nodeHttp({ env: {} });
  const recording: Http = async (request) => {
    const response = await real(request);
    const parts: Uint8Array[] = [];
    for await (const part of response.body) parts.push(part);
    const body = Buffer.concat(parts);
    bodies.push(body);
    return {
      ...response,
      body: (async function* () {
        yield body;
      })(),
    };
  };
  await using provider = await fakeProvider(SCRIPT);
  await (await createSession(defineAgent({ model: of.model(provider, recording), tools: [act()] }))).prompt('Go.')
    .result;
  return bodies;
}

const recorded = new Map<TestWire, Promise<readonly Buffer[]>>();

function bodies(of: TestWire): Promise<readonly Buffer[]> {
  let known = recorded.get(of);
  if (!known) recorded.set(of, (known = bodiesOf(of)));
  return known;
}

/** What stands in the place of a value. Texts between `@` become JSON that `JSON.stringify` doesn't write. */
const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['@deep@', `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ['@deeper@', `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
  ['@huge@', '1e999'],
  ['@negative@', '-1e308'],
  ['@proto@', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
]);

const replacement = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(...SPECIAL.keys(), -1, 1.5, 1e15, 5_000_000, '', null, true, 'x'.repeat(100_000)),
);

interface Change {
  readonly frame: number;
  readonly place: number;
  readonly how: 'replace' | 'delete' | 'add';
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  frame: fc.nat(1000),
  place: fc.nat(1000),
  how: fc.constantFrom('replace', 'replace', 'delete', 'add'),
  value: replacement,
});

/** The objects and lists in a value, itself first. */
function containersIn(value: unknown): object[] {
  const found: object[] = [];
  for (let open = [value]; open.length > 0;) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    found.push(next);
    open = [...open, ...(Object.values(next) as unknown[])];
  }
  return found;
}

function changed(json: string, { place, how, value }: Change): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return json;
  }
  const places = containersIn(parsed).flatMap((container) =>
    Object.keys(container).map((key) => ({ container: container as Record<string, unknown>, key })),
  );
  const chosen = places[place % Math.max(1, places.length)];
  if (!chosen) return JSON.stringify(value) ?? 'null';
  const { container, key } = chosen;
  if (how === 'delete') Reflect.deleteProperty(container, key);
  else container[how === 'add' ? `${key}_added` : key] = value;
  return JSON.stringify(parsed);
}

const withSpecials = (json: string): string =>
  [...SPECIAL].reduce((text, [mark, special]) => text.replaceAll(JSON.stringify(mark), special), json);

/** A body cut into frames, each with its JSON and how it is put back. */
function framesOf(of: TestWire, body: Buffer): { json: string; frame(json: string): Buffer }[] {
  if (of.name === 'bedrock') return binaryFrames(body);
  const text = body.toString('utf8');
  if (of.name === 'ollama') {
    return text.split('\n').map((json) => ({ json, frame: (line) => Buffer.from(line === '' ? '' : `${line}\n`) }));
  }
  return text.split('\n\n').map((event) => {
    const [, before = event, json = ''] = /^([^]*?data: )([^]*)$/.exec(event) ?? [];
    return { json, frame: (data) => Buffer.from(`${before}${data}\n\n`) };
  });
}

/** Messages of AWS's event stream: the headers stay, the payload and the checksums are new. */
function binaryFrames(body: Buffer): { json: string; frame(json: string): Buffer }[] {
  const frames: { json: string; frame(json: string): Buffer }[] = [];
  for (let at = 0; at < body.length;) {
    const [total, headers] = [body.readUInt32BE(at), body.readUInt32BE(at + 4)];
    const head = body.subarray(at + 12, at + 12 + headers);
    frames.push({
      json: body.toString('utf8', at + 12 + headers, at + total - 4),
      frame(json) {
        const payload = Buffer.from(json);
        const message = Buffer.alloc(16 + head.length + payload.length);
        message.writeUInt32BE(message.length, 0);
        message.writeUInt32BE(head.length, 4);
        message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
        message.set(head, 12);
        message.set(payload, 12 + head.length);
        message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
        return message;
      },
    });
    at += total;
  }
  return frames;
}

/** Replies whose JSON was changed in places: other types, other numbers, nothing, or far too much. */
export const replies = fuzzed(
  fc.tuple(wire, fc.nat(SCRIPT.length - 1), fc.array(change, { minLength: 1, maxLength: 4 })),
  async ([name, which, changes]) => {
    const of = wireCalled(name);
    const body = (await bodies(of))[which] ?? Buffer.alloc(0);
    const frames = framesOf(of, body);
    const texts = frames.map(({ json }) => json);
    for (const one of changes) {
      const at = one.frame % Math.max(1, frames.length);
      texts[at] = changed(texts[at] ?? '', one);
    }
    const bytes = Buffer.concat(frames.map(({ frame }, at) => frame(withSpecials(texts[at] ?? ''))));
    await play(name, [{ faults: { body: bytes, chunking: 4096 } }]);
  },
);
