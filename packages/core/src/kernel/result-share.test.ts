import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, type ScriptedModel, type Turn } from '@treadle/testing';
import { estimateMessage } from '../messages/estimate.ts';
import { estimateMessages } from '../messages/estimate-frame.ts';
import { viewSizeFold } from '../projections/view-size.ts';
import { initialState, reduce } from '../entries/kernel.ts';
import type { ModelRequest } from '../entries/model.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryBlobs,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type ToolResultMessage,
} from '../index.ts';

/** Says so many lines. Each has its number, so that it is found again. */
const big = defineTool({
  name: 'big',
  description: 'Says a lot.',
  readOnly: true,
  inputSchema: { type: 'object', properties: { lines: { type: 'number' } }, required: ['lines'] },
  execute: ({ lines }) => Array.from({ length: lines }, (_, index) => `line ${index + 1} of many`).join('\n'),
});

const calls = (...lines: number[]): Turn => ({
  toolCalls: lines.map((count) => ({ name: 'big', arguments: { lines: count } })),
});

const resultsIn = ({ messages }: ModelRequest): ToolResultMessage[] =>
  messages.filter((message): message is ToolResultMessage => message.role === 'tool');
const textOf = (result: ToolResultMessage | undefined): string =>
  result?.content.map((block) => (block.type === 'text' ? block.text : '')).join('') ?? '';

async function play(
  script: Parameters<typeof scriptedModel>[0],
  window: number | undefined,
  definition: Partial<AgentDefinition> = {},
  blobs = memoryBlobs(),
) {
  const journal = memoryJournal();
  const model: ScriptedModel = scriptedModel(script, window === undefined ? {} : { contextWindow: window });
  const agent = defineAgent({ model, tools: [big], ...definition });
  const session = await createSession(agent, { journal, id: 's1', blobs });
  const result = await session.prompt('Go.').result;
  const log = await logOf(journal, 's1');
  return { result, model, session, agent, journal, log, requests: model.requests };
}

/** Reads the whole of the last result back. */
const readBack = (found: string[]) => (request: ModelRequest) => {
  const last = resultsIn(request).at(-1);
  if (!last) return calls(100_000);
  const shown = textOf(last);
  if (last.toolName === 'big') {
    const handle = /recall(?:\(\{"handle":"|, handle )([\w-]+)/.exec(shown)?.[1] ?? expect.fail(shown.slice(0, 300));
    return { toolCalls: [{ name: 'recall', arguments: { handle, limit: 40_000 } }] };
  }
  found.push(shown.replace(/^\[Characters.*?\]\n/, ''));
  const handle = String((resultsCalls(request).at(-1) as { handle?: unknown } | undefined)?.handle);
  const more = /Go on with offset (\d+)/.exec(shown.slice(0, 200));
  if (!more) return 'Done.';
  return { toolCalls: [{ name: 'recall', arguments: { handle, offset: Number(more[1]), limit: 40_000 } }] };
};

const resultsCalls = ({ messages }: ModelRequest) =>
  messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((block) => (block.type === 'tool_call' ? [block.arguments] : []))
      : [],
  );

describe('a result that is long', () => {
  it.each<[string, number | undefined, Partial<AgentDefinition>, number]>([
    ['50,000 tokens', 1_000_000, {}, 50_000],
    ['50,000 tokens where the window is unknown', undefined, {}, 50_000],
    ["a quarter of the model's window", 20_000, {}, 5000],
    ["a quarter of the agent's window", 1_000_000, { context: { window: 40_000 } }, 10_000],
    ["the agent's own limit", 1_000_000, { maxToolResultTokens: 700 }, 700],
  ])('brings at most %s into the view, and the log has all of it', async (_, window, definition, most) => {
    const { requests, log } = await play([calls(20_000), 'Done.'], window, definition);
    const [shown] = resultsIn(requests[1] ?? expect.fail('no request'));
    const tokens = shown ? estimateMessage(shown) : 0;
    expect(tokens).toBeLessThanOrEqual(most);
    expect(tokens).toBeGreaterThan(most * 0.95);
    expect(textOf(shown)).toMatch(/^line 1 of many\n/);
    expect(textOf(shown)).toMatch(/\nline 20000 of many$/);
    const ended = log.find(({ type }) => type === 'tool_ended');
    expect(ended?.type === 'tool_ended' && JSON.stringify(ended.content)).toContain('line 10000 of many');
    expect(log.find(({ type }) => type === 'turn_ended')).toMatchObject({ resultsCut: { tokens: most, recall: true } });
  });

  it('is left whole where it fits, and nothing is offered', async () => {
    const { requests, log } = await play([calls(100), 'Done.'], 20_000);
    expect(textOf(resultsIn(requests[1] ?? expect.fail('no request'))[0])).toContain('line 50 of many');
    expect(requests[1]?.tools.map(({ name }) => name)).toEqual(['big']);
    expect(log.some((event) => event.type === 'turn_ended' && 'resultsCut' in event)).toBe(false);
  });
});

describe('the results of a turn', () => {
  it('have at most half the window together; small ones are whole', async () => {
    const { requests } = await play([calls(20, 20_000, 20_000, 20_000), 'Done.'], 20_000);
    const results = resultsIn(requests[1] ?? expect.fail('no request'));
    expect(estimateMessages(results)).toBeLessThanOrEqual(10_000);
    expect(estimateMessages(results)).toBeGreaterThan(9500);
    expect(textOf(results[0])).not.toContain('cut out');
    expect(results.slice(1).every((result) => textOf(result).includes('cut out'))).toBe(true);
  });
});

describe('recall', () => {
  it.each<[string, Partial<AgentDefinition>]>([
    ['is offered once something was cut, and gives all of it back', {}],
    ['gives back what is longer than the log keeps, where there are blobs', { maxToolResultLength: 50_000 }],
  ])('%s', async (_, definition) => {
    const found: string[] = [];
    const { result, requests } = await play(readBack(found), 200_000, definition);
    expect(result.status).toBe('completed');
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['big']);
    expect(requests[1]?.tools.map(({ name }) => name)).toEqual(['big', 'recall']);
    const all = Array.from({ length: 100_000 }, (__, index) => `line ${index + 1} of many`).join('\n');
    expect(found.join('')).toBe(all);
  });

  it('stays offered in later runs and other processes, and the view is the same there', async () => {
    const { journal, agent, session, log, model } = await play([calls(20_000), 'Done.', 'Again.'], 20_000);
    const reopened = await openSession(agent, 's1', { journal });
    expect(reopened.messages).toEqual(session.messages);
    await reopened.prompt('And now?').result;
    expect(model.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(['big', 'recall']);
    const size = viewSizeFold();
    for (const event of log) size.take(event);
    expect(size.tokens).toBe(estimateMessages(log.reduce(reduce, initialState('s1')).view));
  });

  it('is not offered to an agent that wants none, and the note names the call', async () => {
    const { requests } = await play([calls(20_000), 'Done.'], 20_000, { context: { recall: false } });
    expect(requests[1]?.tools.map(({ name }) => name)).toEqual(['big']);
    expect(textOf(resultsIn(requests[1] ?? expect.fail('no request'))[0])).toMatch(/cut out; kept as call_/);
  });
});

describe('a client tool', () => {
  it('brings no more into the view than other tools do', async () => {
    const ask = defineTool({ name: 'ask', description: 'Asks.', runs: 'client' });
    const { session, model, result } = await play([{ toolCalls: [{ name: 'ask' }] }, 'Done.'], 20_000, {
      tools: [ask],
    });
    expect(result.status).toBe('paused');
    const [callId = ''] = result.pending.map((call) => call.callId);
    const after = await session.addToolOutputs([{ callId, content: 'x'.repeat(1_000_000) }]).result;
    expect(after.status).toBe('completed');
    expect(estimateMessages(resultsIn(model.requests[1] ?? expect.fail('no request')))).toBeLessThanOrEqual(5000);
  });
});
