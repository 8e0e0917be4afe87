// @module-tag slow

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  defineTool,
  type Http,
  type JsonObject,
  type Message,
  type Model,
  type OutputOptions,
  type RunResult,
} from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';
import { nodeHttp } from '../http/node-http.ts';
import { promptedTools } from './prompted-tools.ts';
import { answering, contractProblems, cut, joined } from '../test-support/streams.ts';
import { TEST_WIRES, type TestWire } from '../test-support/wires.ts';

// The acceptance conversation: two rounds of tools, one of which fails, and an answer.

const ARGUMENTS: readonly JsonObject[] = [
  { path: 'notes/ä 🙂.txt', text: 'a </tool> "b" \\ <x> & c\n🙂' },
  { path: 'missing.txt', text: '' },
];

const SAYS = ['I write it down. 🙂', 'Once more.'];
const ANSWER = 'Done: ünï 🙂.';

const native: readonly ProviderTurn[] = [
  ...ARGUMENTS.map((args, at): ProviderTurn => ({
    text: SAYS[at] ?? '',
    toolCalls: [{ name: 'write', arguments: args }],
  })),
  { text: ANSWER },
];

const asJson = (args: JsonObject): string =>
  `<tool>${JSON.stringify({ server_name: 'local', tool_name: 'write', arguments: args })}</tool>`;

const escape = (text: unknown): string => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const asXml = ({ path, text }: JsonObject): string =>
  `<tool>\n<server_name>local</server_name>\n<tool_name>write</tool_name>\n` +
  `<arguments><path>${escape(path)}</path><text>${escape(text)}</text></arguments>\n</tool>`;

const FORMS = [
  ['json', asJson],
  ['xml', asXml],
] as const;

const prompted = (write: (args: JsonObject) => string): readonly ProviderTurn[] => [
  ...ARGUMENTS.map((args, at): ProviderTurn => ({ text: `${SAYS[at]}\n\n${write(args)}` })),
  { text: ANSWER },
];

interface Conversation {
  readonly result: RunResult;
  readonly ran: readonly JsonObject[];
  /** Who said what, without ids and times. */
  readonly messages: readonly unknown[];
}

async function converse(model: Model): Promise<Conversation> {
  const ran: JsonObject[] = [];
  const write = defineTool({
    name: 'write',
    description: 'Writes a file.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, text: { type: 'string' } },
      required: ['path', 'text'],
    },
    execute(args) {
      ran.push(args);
      if (args.text === '') throw new Error('nothing to write');
      return `wrote ${args.path}`;
    },
  });
  const session = await createSession(defineAgent({ model, tools: [write], instructions: 'Be exact.' }));
  const result = await session.prompt('Write it down.').result;
  return { result, ran, messages: session.messages.map(said) };
}

const said = (message: Message): unknown => {
  if (message.role === 'extension') return null;
  const content = message.content.map((block) => {
    if (block.type === 'text') return block.text;
    return block.type === 'tool_call' ? { calls: block.name, with: block.arguments } : block.type;
  });
  return { role: message.role, content, ...(message.role === 'assistant' ? { stopReason: message.stopReason } : {}) };
};

/** Keeps the bytes of every response that comes through. */
function recording(bodies: Uint8Array[]): Http {
  const http = nodeHttp({ env: {} });
  return async (request) => {
    const response = await http(request);
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk.slice());
    const body = Uint8Array.from(Buffer.concat(chunks));
    bodies.push(body);
    return { ...response, body: one(body) };
  };
}

async function* one(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}

/** Gives these bodies as answers, one after the other, each in pieces of so many bytes. */
function replaying(bodies: readonly Uint8Array[], contentType: string, size: number): Http {
  let next = 0;
  return (request) => {
    const body = bodies[next] ?? new Uint8Array();
    next += 1;
    return answering(cut(body, [size]), { 'content-type': contentType })(request);
  };
}

const contentTypeOf = ({ name }: TestWire): string =>
  name === 'bedrock'
    ? 'application/vnd.amazon.eventstream'
    : name === 'ollama'
      ? 'application/x-ndjson'
      : 'text/event-stream';

async function collect(model: Model): Promise<ModelEvent[]> {
  const tools = [
    {
      name: 'write',
      description: 'Writes.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' }, text: { type: 'string' } } },
    },
  ];
  const events: ModelEvent[] = [];
  const hello: Message = { role: 'user', id: 'm1', at: 0, origin: 'prompt', content: [{ type: 'text', text: 'Go.' }] };
  const request = { system: '', messages: [hello], tools };
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

describe.each(TEST_WIRES)('prompted tool calls on $name', (wire) => {
  let provider: FakeProvider;
  let expected: Conversation;

  beforeAll(async () => {
    provider = await fakeProvider(native);
    expected = await converse(wire.model(provider));
    await provider.close();
  });

  afterAll(() => provider.close());

  it('has a native conversation to be measured by', () => {
    expect(expected.result).toMatchObject({ status: 'completed', text: ANSWER, turns: 3 });
    expect(expected.ran).toEqual(ARGUMENTS);
  });

  it.each(FORMS)('holds the same conversation as native calls, written as %s, over sockets', async (form, write) => {
    await using server = await fakeProvider(prompted(write));
    const conversation = await converse(promptedTools(wire.model(server), { form }));
    expect(server.requests.flatMap(({ problems }) => problems)).toEqual([]);
    expect(conversation.result).toMatchObject({ status: 'completed', text: ANSWER, turns: 3 });
    expect(conversation.ran).toEqual(ARGUMENTS);
    expect(conversation.messages).toEqual(expected.messages);
    // No request has a tool in it, and all begin alike.
    for (const { rawBody } of server.requests) expect(rawBody).not.toMatch(/"tools"|functionDeclarations|toolConfig/);
  });

  it.each(FORMS)('reads a reply written as %s alike, wherever its bytes are cut', async (_form, write) => {
    const bodies: Uint8Array[] = [];
    await using server = await fakeProvider(prompted(write).slice(0, 1), { chunkSize: 64 });
    const whole = await collect(promptedTools(wire.model(server, recording(bodies))));
    expect(contractProblems(whole)).toEqual([]);
    expect(whole.some(({ type }) => type === 'tool_call_start')).toBe(true);
    const [body = new Uint8Array()] = bodies;
    const contentType = contentTypeOf(wire);
    for (let at = 1; at < body.length; at += 1) {
      const http = answering([body.slice(0, at), body.slice(at)], { 'content-type': contentType });
      const events = await collect(promptedTools(wire.model(server, http)));
      expect(joined(events), `cut at byte ${at} of ${body.length}`).toEqual(joined(whole));
    }
  });

  it.each(FORMS)('holds the conversation, written as %s, when every byte comes alone', async (form, write) => {
    const bodies: Uint8Array[] = [];
    await using server = await fakeProvider(prompted(write));
    await converse(promptedTools(wire.model(server, recording(bodies)), { form }));
    expect(bodies).toHaveLength(3);
    const http = replaying(bodies, contentTypeOf(wire), 1);
    const conversation = await converse(promptedTools(wire.model(server, http), { form }));
    expect(conversation.messages).toEqual(expected.messages);
  });

  it('recovers from a call that is none, and from a tool that is not there', { tags: ['share'] }, async () => {
    const args = ARGUMENTS[0] ?? {};
    const unknown = '<tool>{"server_name":"local","tool_name":"nope","arguments":{}}</tool>';
    await using server = await fakeProvider([
      { text: '<tool>{oops}</tool>' },
      { text: unknown },
      { text: asJson(args) },
      { text: ANSWER },
    ]);
    const conversation = await converse(promptedTools(wire.model(server)));
    expect(server.requests.flatMap(({ problems }) => problems)).toEqual([]);
    expect(conversation.result).toMatchObject({ status: 'completed', text: ANSWER, turns: 4 });
    expect(conversation.ran).toEqual([args]);
  });
});

describe.each(TEST_WIRES)('structured output on $name', (wire) => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const VALUE = { city: 'Tromsø' };
  const text: ProviderTurn = { text: JSON.stringify(VALUE) };
  const call: ProviderTurn = { toolCalls: [{ name: 'structured_output', arguments: VALUE }] };

  const ask = async (turns: readonly ProviderTurn[], output: OutputOptions, wrap = (model: Model): Model => model) => {
    await using server = await fakeProvider(turns);
    const session = await createSession(defineAgent({ model: wrap(wire.model(server)), output }));
    const result = await session.prompt('Where?').result;
    expect(server.requests.flatMap(({ problems }) => problems)).toEqual([]);
    return { result, requests: server.requests.map(({ rawBody }) => rawBody) };
  };

  it.each([
    ['native', text],
    ['tool', call],
    ['prompted', text],
  ] as const)('%s: comes to a checked value, also after a wrong one', async (mode, turn) => {
    const { result, requests } = await ask([{ text: 'no value' }, turn], { schema, mode });
    expect(result).toMatchObject({ status: 'completed', output: VALUE, turns: 2 });
    expect(requests[0]).toContain('city');
    expect(requests[1]).toContain('fit its schema');
  });

  it('auto: is asked for as the wire keeps it best', async () => {
    const mode = defineAgent({ model: wire.model(await closed()), output: { schema } }).output?.mode;
    expect(mode).toBe(wire.name === 'anthropic' || wire.name === 'bedrock' ? 'tool' : 'native');
    const { result } = await ask([mode === 'tool' ? call : text], { schema });
    expect(result).toMatchObject({ status: 'completed', output: VALUE });
  });

  it('works through prompted tool calls', { tags: ['share'] }, async () => {
    const written = `<tool>${JSON.stringify({ server_name: 'local', tool_name: 'structured_output', arguments: VALUE })}</tool>`;
    const { result } = await ask([{ text: written }], { schema }, (model) => promptedTools(model));
    expect(result).toMatchObject({ status: 'completed', output: VALUE });
  });
});

/** A provider that nobody calls. */
async function closed(): Promise<FakeProvider> {
  const provider = await fakeProvider([]);
  await provider.close();
  return provider;
}
