import assert from 'node:assert/strict';
import type { Model } from '@treadle/core';
import type { ModelEvent, ModelEventIterator, ModelRequest } from '@treadle/core/model';
import type { Turn } from '../turns.ts';
import type { ContractCase } from './case.ts';

/** A model for one case of the contract. Call `n` of `stream` gets turn `n` as its reply. */
export interface ModelUnderTest {
  readonly model: Model;
  /** Called after the case, whether it passed or failed. */
  readonly dispose?: () => Promise<void>;
}

const content = [{ type: 'text', text: 'What is the weather?' } as const];
const messages: ModelRequest['messages'] = [{ id: 'message_1', role: 'user', origin: 'prompt', at: 0, content }];
const tools = [{ name: 'weather', description: 'The weather of a city.', inputSchema: { type: 'object' } }];

/** Frozen, because the next call shares its arrays. */
const REQUEST = Object.freeze({ system: '', messages: Object.freeze(messages), tools: Object.freeze(tools) });

const open = (model: Model, signal = new AbortController().signal) =>
  model.stream(REQUEST, signal)[Symbol.asyncIterator]();

async function rest(events: ModelEventIterator): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    all.push(next.value);
    for (let event = events.ready?.(); event !== undefined; event = events.ready?.()) all.push(event);
  }
  return all;
}

/** The deltas of all blocks, or of one, joined. */
const deltas = (events: readonly ModelEvent[], index?: number): string =>
  events.map((event) => ('text' in event && (index ?? event.index) === event.index ? event.text : '')).join('');

/** What is true of the end of a block: nothing of it follows, and its deltas and its start say the same. */
function checkBlock(events: readonly ModelEvent[], end: Extract<ModelEvent, { type: 'block_end' }>): void {
  const { index, block } = end;
  const last = events.findLast((event) => 'index' in event && event.index === index);
  assert.equal(last, end, `nothing of block ${index} follows its end`);
  if (block.type === 'text') assert.equal(deltas(events, index), block.text);
  if (block.type !== 'tool_call') return;
  assert.equal(deltas(events, index), block.argumentsText);
  const start = events.find((event) => event.type === 'tool_call_start' && event.index === index);
  assert.deepEqual(start, { type: 'tool_call_start', index, providerCallId: block.providerCallId, name: block.name });
}

/** One whole reply, checked for what holds in every reply. */
async function reply(model: Model) {
  const events = await rest(open(model));
  assert.deepEqual(events.slice(0, -1).filter(isEnd), [], 'only the last event is a finish or an error');
  const ends = events.filter((event) => event.type === 'block_end');
  for (const end of ends) checkBlock(events, end);
  const finish = events.find((event) => event.type === 'finish');
  const error = events.find((event) => event.type === 'error')?.error;
  return { text: deltas(events), blocks: ends.map(({ block }) => block), finish, error };
}

const isEnd = ({ type }: ModelEvent): boolean => type === 'finish' || type === 'error';
const isCancelled = (event: ModelEvent): boolean => event.type === 'error' && event.error.kind === 'cancelled';

const TEXT = 'It rains in Zürich, 東京 and ☂️ everywhere else.';

/** By name. `play` makes the model of a case, whose provider replies with these turns. */
const CASES: Readonly<Record<string, (play: (...turns: Turn[]) => Promise<Model>) => Promise<void>>> = {
  async 'streams a text as one block and ends with one finish, which says why'(play) {
    const model = await play({ text: TEXT, chunkSize: 5 }, { text: TEXT, stopReason: 'length' });
    for (const reason of ['stop', 'length']) {
      const { text, blocks, finish } = await reply(model);
      assert.deepEqual([text, blocks.map(({ type }) => type), finish?.stopReason], [TEXT, ['text'], reason]);
    }
  },
  async 'gives each tool call a name, an id and its own block'(play) {
    const toolCalls = ['Oslo', 'Zürich'].map((city) => ({ name: 'weather', arguments: { city } }));
    const { blocks, finish } = await reply(await play({ text: TEXT, toolCalls }));
    assert.equal(finish?.stopReason, 'tool_use');
    const calls = blocks.filter((block) => block.type === 'tool_call');
    const said = calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.argumentsText) as unknown }));
    assert.deepEqual(said, toolCalls);
    assert.equal(new Set(calls.map(({ providerCallId }) => providerCallId)).size, 2, 'two calls have two ids');
  },
  async 'reports the tokens that were used, and null for counts it does not get'(play) {
    const model = await play({ text: TEXT, usage: { input: 7, output: 3 } }, { text: TEXT, usage: null });
    const [known, unknown] = [(await reply(model)).finish?.usage, (await reply(model)).finish?.usage];
    assert.deepEqual([known?.input, known?.output, unknown?.input, unknown?.output], [7, 3, null, null]);
  },
  async 'makes a failed call an error event, with its kind and whether to try again'(play) {
    const kinds = { 401: ['auth', false], 429: ['rate_limited', true], 503: ['api', true] };
    const model = await play(...Object.keys(kinds).map((status) => ({ error: { status: Number(status) } })));
    const errors = [(await reply(model)).error, (await reply(model)).error, (await reply(model)).error];
    const found = errors.map((error) => [error?.kind, error?.retryable]);
    assert.deepEqual(found, Object.values(kinds));
  },
  async 'never finishes a reply that failed in the middle, or whose stream ended early'(play) {
    const failing = { text: TEXT, chunkSize: 5, error: { status: 503, afterDeltas: 2 } };
    const model = await play(failing, { text: TEXT, unfinished: true });
    const { text, blocks, error } = await reply(model);
    assert.deepEqual([text, blocks, error?.kind], [TEXT.slice(0, 10), [], 'api'], 'a block cut off has no end');
    assert.equal((await reply(model)).finish, undefined);
  },
  async 'ends without a finish when it is aborted, while the provider is silent or before the call'(play) {
    const model = await play({ text: TEXT, chunkSize: 5, waitAfter: { deltas: 1, until: new Promise(() => {}) } });
    const control = new AbortController();
    const events = open(model, control.signal);
    await events.next();
    const after = rest(events);
    control.abort();
    assert.ok((await after).filter(isEnd).every(isCancelled), 'the only end is a cancelled error');
    assert.ok((await rest(open(model, control.signal))).every(isCancelled), 'a call aborted before streams nothing');
  },
  async 'lets its reader leave early, and answers the next call'(play) {
    const model = await play({ text: TEXT, chunkSize: 5 }, { text: 'Again.' });
    const events = open(model);
    await events.next();
    await events.return?.();
    assert.deepEqual(await rest(events), []);
    assert.equal((await reply(model)).text, 'Again.');
  },
  async 'makes one call for one stream, however often it is read'(play) {
    const model = await play({ text: 'One.' }, { text: 'Two.' });
    const stream = model.stream(REQUEST, new AbortController().signal);
    assert.equal(deltas(await rest(stream[Symbol.asyncIterator]())), 'One.');
    assert.deepEqual(await rest(stream[Symbol.asyncIterator]()), []);
    assert.equal((await reply(model)).text, 'Two.');
  },
};

/**
 * What every `Model` must do, as a list of cases for any test runner. `make` is called for each case. It returns a model
 * whose provider answers with these turns, one per call: give them to `fakeProvider`, or play them on a server of your own.
 *
 * @example
 * ```ts
 * import { modelContract, scriptedModel } from '@treadle/testing';
 *
 * // With any runner: for (const { name, run } of modelContract(make)) it(name, run);
 * for (const { run } of modelContract((turns) => ({ model: scriptedModel(turns) }))) await run();
 * ```
 */
export function modelContract(
  make: (turns: readonly Turn[]) => ModelUnderTest | Promise<ModelUnderTest>,
): ContractCase[] {
  const run = async (check: (typeof CASES)[string]): Promise<void> => {
    let under: ModelUnderTest | undefined;
    try {
      await check(async (...turns) => (under = await make(turns)).model);
    } finally {
      await under?.dispose?.();
    }
  };
  return Object.entries(CASES).map(([name, check]) => ({ name, run: () => run(check) }));
}
