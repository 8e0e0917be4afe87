import { scriptedModel } from '@treadle/testing';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { isConversation } from '../../entries/messages.ts';
import type { RunRecord, SessionTree } from '../../entries/projections.ts';
import { createSession, defineAgent, type DurableEvent, type Message, type TreadleEvent } from '../../index.ts';
import { anyLog, logsOfAllKinds } from '../../test-support/logs.ts';
import { sessionTree, sessionTreeFold } from './session-tree.ts';
import { childRuns, findRun, linkSessions, parallelSiblings, rootRuns, totalUsage } from './session-tree-queries.ts';

let logs: ReadonlyMap<string, readonly DurableEvent[]>;
beforeAll(async () => {
  logs = await logsOfAllKinds();
});

const treeOf = (name: string): SessionTree => sessionTree(logs.get(name) ?? []);
const onlyRun = (name: string): RunRecord => {
  const { runs } = treeOf(name);
  const [run] = runs;
  if (!run || runs.length > 1) throw new Error(`${name} has ${runs.length} runs`);
  return run;
};

const said = (messages: readonly Message[]): string[] =>
  messages.map((message) =>
    message.role === 'extension'
      ? 'extension'
      : `${message.role}: ${message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('+')}`,
  );

const idsIn = ({ runs }: SessionTree): string[] => runs.flatMap(({ messages }) => messages.map(({ id }) => id));

/** The ids of all messages that a log tells of. A reply that called no tool where it should have has no result. */
const idsOf = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) => {
    if (event.type === 'message_added') return [event.message.id];
    const isResult = event.type === 'tool_ended' || event.type === 'tool_call_rejected';
    return isResult ? [`result_${event.callId}`] : [];
  });

function expectSameCounts(log: readonly DurableEvent[]): void {
  const { runs } = sessionTree(log);
  for (const event of log) {
    if (event.type !== 'run_ended') continue;
    const run = runs.find(({ runId }) => runId === event.runId);
    expect({ usage: run?.usage, cost: run?.cost }).toEqual({ usage: event.usage, cost: event.cost });
  }
}

describe('the tree of any log', () => {
  it('is the same folded event by event and all at once, at every length', () => {
    for (const log of logs.values()) {
      const fold = sessionTreeFold();
      log.forEach((event, index) => {
        fold.take(event);
        expect(fold.tree()).toEqual(sessionTree(log.slice(0, index + 1)));
      });
    }
  });

  it('does not change when more is folded', () => {
    for (const log of logs.values()) {
      const fold = sessionTreeFold();
      const seen: { readonly tree: SessionTree; readonly copy: SessionTree }[] = [];
      for (const event of log) {
        fold.take(event);
        const tree = fold.tree();
        seen.push({ tree, copy: structuredClone(tree) });
      }
      for (const { tree, copy } of seen) expect(tree).toEqual(copy);
    }
  });

  it('has every message once', () => {
    for (const log of logs.values()) expect(idsIn(sessionTree(log)).sort()).toEqual(idsOf(log).sort());
  });

  it('has each event of a run once, in order', () => {
    for (const log of logs.values()) {
      for (const { runId, events } of sessionTree(log).runs) {
        expect(events).toEqual(log.filter((event) => 'runId' in event && event.runId === runId));
      }
    }
  });

  it('is a tree whatever it was cut off after', () => {
    for (const log of logs.values()) {
      for (let length = 0; length <= log.length; length += 1) {
        const tree = sessionTree(log.slice(0, length));
        const below = (runs: readonly RunRecord[]): string[] =>
          runs.flatMap((run) => [run.runId, ...below(childRuns(tree, run.runId))]);
        expect(below(rootRuns(tree)).sort()).toEqual(tree.runs.map(({ runId }) => runId).sort());
        for (const run of tree.runs) {
          expect(childRuns(tree, run.runId).map(({ runId }) => runId)).toEqual(run.childRunIds);
          expect(run.endedAt === null).toBe(run.status === 'pending' || run.status === 'running');
        }
      }
    }
  });

  it('counts what the run says it used', () => {
    for (const log of logs.values()) expectSameCounts(log);
  });

  it('holds all of this for sessions in which anything happens', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, fc.nat(), async (playing, cut) => {
        const log = await playing;
        const fold = sessionTreeFold();
        for (const event of log) fold.take(event);
        expect(fold.tree()).toEqual(sessionTree(log));
        expect(idsIn(fold.tree()).sort()).toEqual(idsOf(log).sort());
        expectSameCounts(log);
        const prefix = log.slice(0, cut % (log.length + 1));
        expect(idsIn(sessionTree(prefix)).sort()).toEqual(idsOf(prefix).sort());
      }),
      { numRuns: 100 },
    );
  });
});

describe('a run of the tree', () => {
  it('has the configuration, who asked for it, and what it came to', () => {
    const run = onlyRun('tools');
    expect(run).toMatchObject({
      sessionId: 's1',
      parentRunId: null,
      continuation: { kind: 'initial' },
      status: 'completed',
      endStatus: 'completed',
      rejection: null,
      config: { provider: 'scripted', tools: ['read', 'fail', 'write', 'pick', 'wonder'] },
      usage: { input: 200, output: 20 },
      cost: 0.2,
    });
    expect(run.runId).toMatch(/^s1\..+\.1$/);
    expect(said(run.messages)).toEqual([
      'user: Look.',
      'assistant: Let me see.+tool_call+tool_call+tool_call+tool_call',
      'tool: a line',
      expect.stringMatching(/^tool: .*No such thing/),
      expect.stringMatching(/^tool: .*nothing/),
      'tool: a line',
      'assistant: thinking+Done.',
    ]);
  });

  it.each([
    ['plain', 'completed', 'completed'],
    ['cancelled', 'aborted', 'aborted'],
    ['rejected by a hook', 'rejected', 'rejected'],
    ['rejected by a filter, in the middle', 'rejected', 'rejected'],
    ['limited', 'completed', 'turn_limit'],
    ['failed', 'completed', 'model_error'],
    ['paused', 'running', null],
    ['resumed', 'completed', 'completed'],
  ])('that was %s is %s', (name, status, endStatus) => {
    expect(onlyRun(name)).toMatchObject({ status, endStatus });
  });

  it('that was refused says why and what was asked, and has nothing of the prompt', () => {
    expect(onlyRun('rejected by a hook')).toMatchObject({
      rejection: 'Closed.',
      continuation: { kind: 'initial' },
      metadata: { request: 1 },
      config: null,
      messages: [],
    });
    expect(onlyRun('rejected by a filter, in the middle')).toMatchObject({ rejection: 'No secrets.' });
  });

  it('is pending while somebody is asked whether it may start', () => {
    const log = logs.get('rejected by a hook') ?? [];
    const asked = log.findIndex(({ type }) => type === 'decision_made');
    expect(sessionTree(log.slice(0, asked + 1)).runs).toMatchObject([{ status: 'pending', continuation: null }]);
  });

  it('that is paused says what it waits for, until it goes on', () => {
    expect(onlyRun('paused').waitsFor).toMatchObject([{ toolName: 'pick', arguments: { path: 'a.txt' } }]);
    const log = logs.get('resumed') ?? [];
    const paused = log.findIndex(({ type }) => type === 'run_paused');
    const later = log.findIndex(({ type }, index) => index > paused && type === 'drive_started');
    expect(sessionTree(log.slice(0, later)).runs[0]?.waitsFor).toHaveLength(1);
    expect(sessionTree(log.slice(0, later + 1)).runs[0]?.waitsFor).toEqual([]);
  });

  it('that nobody goes on with is aborted', () => {
    const log = logs.get('paused') ?? [];
    expect(sessionTree(log, { isOver: true }).runs).toMatchObject([{ status: 'aborted', endStatus: null }]);
    expect(sessionTree(logs.get('plain') ?? [], { isOver: true }).runs).toMatchObject([{ status: 'completed' }]);
  });

  it('is a child of the run it continues, with the kind and the tag', () => {
    const tree = treeOf('continued');
    const [failed, again, next] = tree.runs;
    expect(again).toMatchObject({
      parentRunId: failed?.runId,
      continuation: { kind: 'rerun', tag: '2026-03-01T09:30:00Z' },
    });
    expect(rootRuns(tree)).toEqual([failed, next]);
    expect(childRuns(tree, failed?.runId ?? '')).toEqual([again]);
    expect(findRun(tree, again?.runId ?? '')).toBe(again);
    expect(totalUsage(tree)).toMatchObject({ input: 200, output: 20, cacheRead: 80 });
  });

  it('keeps what the runtime told the model, and it can be told apart', () => {
    const { messages } = onlyRun('checked');
    expect(said(messages)).toContain('user: Look again.');
    expect(said(messages.filter(isConversation))).not.toContain('user: Look again.');
  });
});

describe('a session’s tree', () => {
  it('says when the session began, for whom, and how', () => {
    const [first] = logs.get('plain') ?? [];
    const tree = treeOf('plain');
    expect(tree).toMatchObject({
      sessionId: 's1',
      agentId: expect.any(String) as string,
      createdAt: first?.at,
      lastActiveAt: logs.get('plain')?.at(-1)?.at,
      formation: { kind: 'explicit', at: first?.at },
      metadata: { from: 'a test' },
      fork: null,
      parentSpawn: null,
    });
  });

  it('begins with its first run when nobody saw how it was created', () => {
    const log = logs.get('plain')?.slice(1) ?? [];
    expect(sessionTree(log)).toMatchObject({
      formation: { kind: 'first_run', at: log[0]?.at },
      runs: [{ status: 'completed' }],
    });
  });

  it('is of inactivity when the agent had been idle for longer than the threshold', () => {
    const log = logs.get('plain') ?? [];
    const at = log[0]?.at ?? 0;
    const after = (idleMs: number) =>
      sessionTree(log, { inactivity: { lastActiveAt: at - idleMs, thresholdMs: 1000 } }).formation;
    expect(after(1000)).toEqual({ kind: 'explicit', at });
    expect(after(1001)).toEqual({ kind: 'inactivity', at, thresholdMs: 1000 });
  });

  it('of a fork has what it shares with its parent, as the parent’s', () => {
    const tree = treeOf('forked');
    expect(tree).toMatchObject({ sessionId: 's2', fork: { sessionId: 's1' } });
    expect(tree.runs.map(({ sessionId, messages }) => `${sessionId} ${said(messages).join(', ')}`)).toEqual([
      's1 user: Hi, assistant: Hello.',
      's2 user: And now?, assistant: In the fork.',
    ]);
  });

  it('keeps live events but no deltas, unless they are asked for, as they were when they came', async () => {
    const session = await createSession(
      defineAgent({ model: scriptedModel([{ toolCalls: [{ name: 'x', arguments: { a: 'long' } }] }, 'Hi.']) }),
    );
    const events: TreadleEvent[] = [];
    session.subscribe((event) => events.push(event));
    await session.prompt('Hi').result;
    const [without] = sessionTree(events).runs;
    const [withDeltas] = sessionTree(events, { deltas: true }).runs;
    expect(without?.events.map(({ type }) => type)).toContain('message_started');
    expect(without?.events.map(({ type }) => type)).not.toContain('message_delta');
    const deltas = withDeltas?.events.filter(({ type }) => type === 'message_delta') ?? [];
    expect(deltas.length).toBe(events.filter(({ type }) => type === 'message_delta').length);
    expect(deltas.length).toBeGreaterThan(0);
    expect(deltas.filter((delta) => 'partial' in delta)).toEqual([]);
  });
});

describe('trees of several sessions', () => {
  // No session writes these yet: a log as it would be.
  const log = (sessionId: string, ...rest: readonly Record<string, unknown>[]): DurableEvent[] =>
    [{ type: 'session_created', eventVersion: 1, sessionId }, ...rest].map(
      (event, index) => ({ at: index, seq: index + 1, ...event }) as unknown as DurableEvent,
    );
  const started = (runId: string) => ({
    type: 'run_started',
    runId,
    agentId: 'a',
    continuation: { kind: 'initial' },
    config: {},
    startedBy: 'user',
    inputSeq: 1,
  });

  it('know the sub-agents their calls started, and the calls that started them', () => {
    const parent = log('p', started('p.c.1'), {
      type: 'tool_ended',
      runId: 'p.c.1',
      turnIndex: 0,
      callId: 'call_1',
      toolName: 'agent',
      content: [],
      isError: false,
      durationMs: 1,
      childRunId: 'k.c.1',
    });
    const [alone] = [sessionTree(parent)];
    const ref = { callId: 'call_1', toolName: 'agent', childRunId: 'k.c.1' };
    expect(alone?.runs[0]?.childRuns).toEqual([{ ...ref, childSessionId: null }]);
    const [linked, child] = linkSessions([sessionTree(parent), sessionTree(log('k', started('k.c.1')))]);
    expect(linked?.runs[0]?.childRuns).toEqual([{ ...ref, childSessionId: 'k' }]);
    expect(linked?.parentSpawn).toBeNull();
    expect(child?.parentSpawn).toEqual({
      parentSessionId: 'p',
      parentRunId: 'p.c.1',
      callId: 'call_1',
      toolName: 'agent',
    });
  });

  it('know the branches of a group, and which one was selected', () => {
    const branches = [
      { sessionId: 'b1', configId: 'small' },
      { sessionId: 'b2', configId: 'large' },
    ];
    const evaluationUsage = { input: 5, output: 1, cacheRead: null, cacheWrite: null, reasoning: null };
    const open = [started('p.c.1'), { type: 'branches_started', runId: 'p.c.1', branches }];
    const decided = {
      type: 'branches_ended',
      runId: 'p.c.1',
      selectedSessionId: 'b2',
      selectedIndex: 1,
      evaluationUsage,
    };
    const fork = { sessionId: 'p', seq: 3 };
    const branch = (id: string) => [
      ...log('p', ...open),
      ...log(id, started(`${id}.c.1`)).map((event, index) => ({
        ...event,
        seq: 4 + index,
        ...(index === 0 ? { fork } : {}),
      })),
    ];
    expect(sessionTree(log('p', ...open)).runs[0]?.parallelGroup).toEqual({
      branches,
      selectedSessionId: null,
      selectedIndex: null,
      evaluationUsage: null,
      isSelected: false,
    });
    const trees = linkSessions(
      [log('p', ...open, decided), branch('b1'), branch('b2')].map((events) => sessionTree(events)),
    );
    const group = (tree: SessionTree | undefined, runId: string) => tree && findRun(tree, runId)?.parallelGroup;
    expect(group(trees[0], 'p.c.1')).toMatchObject({ selectedIndex: 1, evaluationUsage, isSelected: false });
    expect(group(trees[1], 'b1.c.1')).toMatchObject({ branches, selectedSessionId: 'b2', isSelected: false });
    expect(group(trees[2], 'b2.c.1')).toMatchObject({ branches, selectedSessionId: 'b2', isSelected: true });
    expect(parallelSiblings(trees, 'b1.c.1').map(({ runId }) => runId)).toEqual(['b2.c.1']);
    expect(parallelSiblings(trees, 'p.c.1')).toEqual([]);
    expect(parallelSiblings(trees, 'nobody')).toEqual([]);
  });
});
