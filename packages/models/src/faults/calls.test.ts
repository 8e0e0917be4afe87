import { describe, expect, it } from 'vitest';
import { defineTool, type JsonObject } from '@treadle/core';
import { faultBench, ofType, streamsArguments, until, type Outcome } from '../test-support/faults.ts';
import { sse } from '../test-support/streams.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// Tool calls that are wrong, or written in the odd ways of some servers.

const bench = faultBench();

/** The texts of the tool results of a run, in order. */
const answersOf = ({ result }: Outcome): string[] =>
  result.messages.flatMap((message) =>
    message.role === 'tool'
      ? [message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('')]
      : [],
  );

const strict = (ran: JsonObject[]) =>
  defineTool({
    name: 'strict',
    description: 'Needs a path.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    execute: (args) => {
      ran.push(args);
      return 'fine';
    },
  });

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('P6: two calls with one id are two calls, each with its own answer', async () => {
    const twin = (n: number) => ({ name: 'act', arguments: { n }, providerCallId: 'call_same' });
    const outcome = await bench.play({ wire, turns: [{ toolCalls: [twin(1), twin(2)] }, 'Done.'] });
    expect(outcome.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(outcome.executed).toEqual([{ n: 1 }, { n: 2 }]);
    expect(answersOf(outcome)).toEqual(['did 1', 'did 2']);
    const ids = ofType(outcome.events, 'tool_started').map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(2);
  });

  it.each([513, 3000])('arguments of %i levels are refused, and the run goes on', async (depth) => {
    const outcome = await bench.play({
      wire,
      turns: [
        { toolCalls: [{ name: 'act', argumentsText: `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}` }] },
        { toolCalls: [{ name: 'act', argumentsText: `${'{"a":'.repeat(512)}1${'}'.repeat(512)}` }] },
        'Done.',
      ],
    });
    expect(outcome.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(ofType(outcome.events, 'tool_call_rejected')).toMatchObject([{ reason: 'too_deep' }]);
    expect(answersOf(outcome)[0]).toContain('deeper than 512 levels');
    expect(outcome.executed).toHaveLength(1);
  });

  it('P11: empty arguments are none, for a tool that needs none', async () => {
    const { result, executed } = await bench.play({
      wire,
      turns: [{ toolCalls: [{ name: 'act', argumentsText: '' }] }, 'Done.'],
    });
    expect(result.status).toBe('completed');
    expect(executed).toEqual([{}]);
  });

  it('P11: empty arguments are an error that names what is missing, for a tool that needs some', async () => {
    const ran: JsonObject[] = [];
    const outcome = await bench.play({
      wire,
      tools: [strict(ran)],
      turns: [{ toolCalls: [{ name: 'strict', argumentsText: '' }] }, 'Done.'],
    });
    expect(outcome.result.status).toBe('completed');
    expect(ran).toEqual([]);
    expect(ofType(outcome.events, 'tool_call_rejected')).toMatchObject([{ reason: 'invalid_arguments' }]);
    expect(answersOf(outcome)[0]).toContain('path');
  });

  it('P37: a tool that is not there is an error that lists those that are', async () => {
    const outcome = await bench.play({ wire, turns: [{ toolCalls: [{ name: 'atc', arguments: {} }] }, 'Done.'] });
    expect(outcome.result.status).toBe('completed');
    expect(ofType(outcome.events, 'tool_call_rejected')).toMatchObject([{ reason: 'unknown_tool' }]);
    expect(answersOf(outcome)[0]).toMatch(/atc.*\bact\b/s);
    expect(outcome.requests[1]?.rawBody).toContain('atc');
  });

  it('P38: two hundred calls run eight at a time, and their results keep the order of the calls', async () => {
    let running = 0;
    let most = 0;
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time.',
      inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      execute: async ({ n }) => {
        most = Math.max(most, ++running);
        // Later calls are quicker than earlier ones.
        let left = 8 - (n % 8);
        await until(() => --left < 0);
        running--;
        return `slow ${n}`;
      },
    });
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    const outcome = await bench.play({
      wire,
      tools: [slow],
      agent: { toolExecution: { mode: 'parallel', concurrency: 8 }, limits: { maxCallsPerTurn: 200 } },
      turns: [{ toolCalls: numbers.map((n) => ({ name: 'slow', arguments: { n } })) }, 'Done.'],
    });
    expect(outcome.result.status).toBe('completed');
    expect(most).toBe(8);
    expect(answersOf(outcome)).toEqual(numbers.map((n) => `slow ${n}`));
  });
});

describe.each(TEST_WIRES.filter(streamsArguments))('on $name', (wire) => {
  it('P5: arguments that are not JSON are an error that says where, and the model may correct them', async () => {
    const outcome = await bench.play({
      wire,
      turns: [
        { toolCalls: [{ name: 'act', argumentsText: '{"path": nope}' }] },
        { toolCalls: [{ name: 'act', arguments: { path: 'right' } }] },
        'Done.',
      ],
    });
    expect(outcome.result).toMatchObject({ status: 'completed', turns: 3 });
    expect(outcome.executed).toEqual([{ path: 'right' }]);
    expect(answersOf(outcome)[0]).toMatch(/not valid JSON \(.+\)/);
    expect(outcome.requests[1]?.rawBody).toContain('not valid JSON');
  });

  it('P5: a model that never gets its arguments right is stopped by the limit of turns', async () => {
    const turn = { toolCalls: [{ name: 'act', argumentsText: '{"path": nope}' }] };
    const { result, executed, requests } = await bench.play({
      wire,
      turns: Array.from({ length: 9 }, () => turn),
      agent: { limits: { maxTurns: 3 } },
    });
    expect(result.status).toBe('turn_limit');
    expect(executed).toEqual([]);
    expect(requests).toHaveLength(3);
  });
});

describe('Chat Completions, as servers write it', () => {
  const wire = TEST_WIRES.find(({ name }) => name === 'openai');
  if (!wire) throw new Error('There is a wire for Chat Completions.');
  const chunk = (delta: object, finish: string | null = null): object => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    model: 'model-1',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const calls = (...parts: readonly object[]): object => chunk({ tool_calls: parts });
  const fn = (name: string, args: string): object => ({ type: 'function', function: { name, arguments: args } });
  const more = (args: string): object => ({ function: { arguments: args } });
  const reply = (...chunks: readonly object[]): string =>
    sse(chunk({ role: 'assistant', content: '' }), ...chunks, chunk({}, 'tool_calls'), '[DONE]');

  it.each([
    [
      'P7: all calls with index 0 and ids of their own are two calls',
      reply(
        calls({ index: 0, id: 'a', ...fn('act', '{"n":1}') }),
        calls({ index: 0, id: 'b', ...fn('act', '{"n":2}') }),
      ),
      [{ n: 1 }, { n: 2 }],
    ],
    [
      'P7: the same in one delta',
      reply(calls({ index: 0, id: 'a', ...fn('act', '{"n":1}') }, { index: 0, id: 'b', ...fn('act', '{"n":2}') })),
      [{ n: 1 }, { n: 2 }],
    ],
    [
      'P8: no index, and the id only on the first delta, is one call',
      reply(calls({ id: 'a', ...fn('act', '{"n"') }), calls(more(':1')), calls(more('2}'))),
      [{ n: 12 }],
    ],
    [
      'P9: a first call at index 1 is the only one',
      reply(calls({ index: 1, id: 'a', ...fn('act', '{"n"') }), calls({ index: 1, ...more(':3}') })),
      [{ n: 3 }],
    ],
  ])('%s', async (_name, body, expected) => {
    const { result, executed } = await bench.play({ wire, turns: [{ faults: { body } }, 'Done.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 2 });
    expect(executed).toEqual(expected);
  });
});

it('I7: enough of these runs came through', () => {
  expect(bench.completed).toBeGreaterThanOrEqual(TEST_WIRES.length * 5 + 8);
});
