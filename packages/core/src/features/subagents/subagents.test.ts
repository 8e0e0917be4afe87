import { logOf, scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import { linkSessions, rootRuns, sessionTree } from '../../entries/projections.ts';
import {
  agentsTool,
  asTool,
  createSession,
  defineAgent,
  defineHook,
  memoryJournal,
  type Agent,
  type AgentDefinition,
  type DurableEvent,
  type TreadleEvent,
} from '../../index.ts';

const asks = (name: string, args: Record<string, string>): Turn => ({ toolCalls: [{ name, arguments: args }] });

const reader = (turns: readonly (Turn | string)[], more: Partial<AgentDefinition> = {}): Agent =>
  defineAgent({ id: 'reader', model: scriptedModel(turns), ...more });

const only = <Type extends DurableEvent['type']>(
  log: readonly DurableEvent[],
  type: Type,
): Extract<DurableEvent, { type: Type }>[] =>
  log.filter((event): event is Extract<DurableEvent, { type: Type }> => event.type === type);

const textOf = (content: readonly { readonly type: string; readonly text?: string }[]): string =>
  content.map(({ text }) => text ?? '').join('\n');

/** A parent that calls the reader once, and what came of it. */
async function delegate(child: Agent, more: Partial<AgentDefinition> = {}) {
  const journal = memoryJournal();
  const model = scriptedModel([asks('reader', { prompt: 'Read it.' }), 'Thanks.']);
  const tools = [asTool(child, { description: 'Reads.' })];
  const session = await createSession(defineAgent({ id: 'boss', model, tools, ...more }), { journal, id: 'boss' });
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  const result = await session.prompt('What does it say?').result;
  const log = await logOf(journal, 'boss');
  const [started] = only(log, 'tool_started');
  const childId = started?.childSessionId ?? '';
  const childLog = await logOf(journal, childId).catch(() => []);
  const [ended] = only(log, 'tool_ended');
  return { session, result, log, childId, childLog, ended, model, events, journal };
}

describe('an agent as a tool', () => {
  it('starts with nothing but the prompt, and gives back its final message with its run', async () => {
    const child = reader(['It says hello.'], { instructions: 'Read well.' });
    const { result, ended, childId } = await delegate(child);
    expect(result).toMatchObject({ status: 'completed', text: 'Thanks.' });
    const [request] = (child.model as typeof child.model & { requests: ModelRequest[] }).requests;
    expect(request?.system).toBe('Read well.');
    expect(request?.messages.map(({ role, content }) => [role, textOf(content as [])])).toEqual([['user', 'Read it.']]);
    expect(ended).toMatchObject({ isError: false, childRunId: `${childId}.scripted.scripted.1` });
    expect(textOf(ended?.content ?? [])).toBe(
      `It says hello.\nAgent run ${childId}.scripted.scripted.1. To go on with it, call reader with resume: "${childId}".`,
    );
  });

  it('is linked both ways, and its first turn says that a sub-agent runs', async () => {
    const { childLog, log } = await delegate(reader(['It says hello.']));
    const [runStarted] = only(log, 'run_started');
    expect(only(childLog, 'session_created')[0]).toMatchObject({
      agentId: 'reader',
      spawnedBy: { sessionId: 'boss', runId: runStarted?.runId, callId: only(log, 'tool_started')[0]?.callId },
    });
    expect(only(childLog, 'run_started')[0]).toMatchObject({
      startedBy: 'subAgent',
      parentRunId: runStarted?.runId,
      limits: { maxTurns: 10, maxDurationMs: 300_000 },
    });
    expect(only(childLog, 'turn_started')[0]?.triggeredBy).toBe('subAgent');
  });

  it('shows its events in the stream of the parent, marked with their session and run', async () => {
    const { events, childId, childLog } = await delegate(reader(['It says hello.']));
    const shown = events.flatMap((event) => (event.type === 'child_event' ? [event] : []));
    expect(new Set(shown.map(({ sessionId }) => sessionId))).toEqual(new Set([childId]));
    expect(shown.map(({ event }) => event).filter((event) => 'seq' in event)).toEqual(
      childLog.filter(({ type }) => !['session_created', 'input_received'].includes(type)),
    );
    expect(shown.some(({ event }) => event.type === 'message_delta' && event.text === 'It says hello.')).toBe(true);
  });

  it.each<[string, readonly (Turn | string)[], Partial<AgentDefinition>, RegExp]>([
    ['says nothing', [''], { loopDetection: false }, /without an answer/],
    ['reaches a limit', [asks('no_such', {}), 'Late.'], { limits: { maxTurns: 1 } }, /turn_limit/],
    [
      'fails',
      [{ error: { kind: 'api', message: 'Bad request.', retryable: false } }],
      {},
      /model_error\): Bad request/,
    ],
    [
      'is refused by its own hooks',
      [],
      { hooks: [defineHook('before_run', () => false)] },
      /did not start: A before_run hook said no/,
    ],
  ])('is an error when it %s', async (_, turns, more, expected) => {
    const { ended, result } = await delegate(reader(turns, more));
    expect(ended?.isError).toBe(true);
    expect(textOf(ended?.content ?? [])).toMatch(expected);
    expect(result.status).toBe('completed');
  });
});

describe('the tree of sessions', () => {
  it('has the runs of sub-agents below the calls that started them, from each log by itself', async () => {
    const { log, childLog, childId, ended } = await delegate(reader(['It says hello.']));
    const [parent, child] = [sessionTree(log), sessionTree(childLog)];
    const { callId = '', childRunId = '' } = ended ?? {};
    expect(parent.runs[0]?.childRuns).toEqual([{ callId, toolName: 'reader', childRunId, childSessionId: childId }]);
    expect(child.parentSpawn).toEqual({
      parentSessionId: 'boss',
      parentRunId: parent.runs[0]?.runId,
      callId,
      toolName: 'reader',
    });
    expect(rootRuns(child).map(({ runId, parentRunId }) => [runId, parentRunId])).toEqual([
      [childRunId, parent.runs[0]?.runId],
    ]);
    expect(linkSessions([parent, child])).toEqual([parent, child]);
  });
});

describe('the agent tool', () => {
  it('picks the agent by its type', async () => {
    const tool = agentsTool({
      one: { agent: reader(['I am one.']), description: 'First.' },
      two: { agent: reader(['I am two.']), description: 'Second.' },
    });
    const model = scriptedModel([asks('agent', { subagent_type: 'two', prompt: 'Who?' }), 'Two.']);
    const journal = memoryJournal();
    const session = await createSession(defineAgent({ model, tools: [tool] }), { journal, id: 's' });
    await session.prompt('Go.').result;
    expect(textOf(only(await logOf(journal, 's'), 'tool_ended')[0]?.content ?? [])).toMatch(/^I am two/);
    expect(model.requests[0]?.tools[0]?.description).toMatch(/- two: Second\./);
  });
});

describe('the cost of a run', () => {
  const priced = (turns: readonly (Turn | string)[], price: number | null, id: string, child?: Agent): Agent =>
    defineAgent({
      id,
      model: scriptedModel(turns, { cost: () => price }),
      subAgents: { maxDepth: 2 },
      ...(child && { tools: [asTool(child, { description: 'Helps.' })] }),
    });
  const costOf = async (agent: Agent) => {
    const { cost, costBreakdown } = await (await createSession(agent)).prompt('Go.').result;
    return { cost, ...costBreakdown };
  };

  it('includes what its sub-agents and theirs have cost, and says how much of it', async () => {
    const lowest = priced(['Done.'], 4, 'lowest');
    const middle = priced([asks('lowest', { prompt: 'Go.' }), 'Done.'], 1, 'middle', lowest);
    const top = priced([asks('middle', { prompt: 'Go.' }), 'Done.'], 0.5, 'top', middle);
    expect(await costOf(top)).toEqual({ cost: 7, own: 1, subAgents: 6 });
  });

  it('is unknown where that of a sub-agent is', async () => {
    const child = priced(['Done.'], null, 'child');
    const top = priced([asks('child', { prompt: 'Go.' }), 'Done.'], 0.5, 'top', child);
    expect(await costOf(top)).toEqual({ cost: null, own: 1, subAgents: null });
  });
});
