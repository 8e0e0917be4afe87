import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { initialState, reduce } from '../entries/kernel.ts';
import { estimateMessages } from '../entries/messages.ts';
import type { DurableEvent } from '../index.ts';
import { anyLog, logsOfAllKinds } from '../test-support/logs.ts';
import { runLog, runLogFold, type RunLogEntry } from './run-log.ts';

let logs: ReadonlyMap<string, readonly DurableEvent[]>;
beforeAll(async () => {
  logs = await logsOfAllKinds();
});

const logOf = (name: string): RunLogEntry[] => runLog(logs.get(name) ?? []);
const actionsOf = (name: string): string[] => logOf(name).map(({ action }) => action);
const dataOf = (name: string, action: string): RunLogEntry['data'][] =>
  logOf(name).flatMap((entry) => (entry.action === action ? [entry.data] : []));

/** Each entry has the size of the view that the loop itself has there. */
function expectSizes(log: readonly DurableEvent[]): void {
  const state = initialState('s1');
  const fold = runLogFold();
  for (const event of log) {
    reduce(state, event);
    const entry = fold.take(event);
    if (!entry) continue;
    const { messagesCount, estimatedTokens } = entry;
    const size = { messagesCount: state.view.length, estimatedTokens: estimateMessages(state.view) };
    expect({ messagesCount, estimatedTokens }).toEqual(size);
  }
}

describe('a run log', () => {
  it('says of each entry how big the conversation was then, as the loop has it', async () => {
    for (const log of logs.values()) expectSizes(log);
    await fc.assert(
      fc.asyncProperty(anyLog, async (playing) => expectSizes(await playing)),
      { numRuns: 100 },
    );
  });

  it('has an entry for each step of a run, with the turn it was in', () => {
    expect(logOf('tools').map(({ step, action }) => `${step} ${action}`)).toEqual([
      'null run_started',
      '1 user_message',
      '1 api_response_received',
      '1 tool_call_rejected',
      '1 tool_execution',
      '1 tool_execution',
      '1 tool_execution',
      '2 api_response_received',
      '2 run_completed',
    ]);
    const [first] = logOf('tools');
    const started = logs.get('tools')?.find(({ type }) => type === 'run_started');
    expect(first).toMatchObject({
      logId: String(started?.seq),
      sessionId: 's1',
      agentId: expect.any(String) as string,
      runId: expect.stringMatching(/^s1\./) as string,
      at: started?.at,
      data: { continuation: { kind: 'initial' }, config: { provider: 'scripted' } },
    });
    expect(dataOf('tools', 'api_response_received')[0]).toMatchObject({
      stopReason: 'tool_use',
      usage: { input: 100 },
      cost: 0.1,
      toolCalls: [{ toolName: 'read' }, { toolName: 'fail' }, { toolName: 'nothing' }, { toolName: 'read' }],
    });
    const read = dataOf('tools', 'tool_execution').find((data) => data['toolName'] === 'read');
    expect(read).toMatchObject({
      arguments: { path: 'a.txt' },
      isError: false,
      durationMs: expect.any(Number) as number,
    });
    expect(dataOf('tools', 'run_completed')).toMatchObject([{ status: 'completed', turns: 2, cost: 0.2 }]);
  });

  it('says when a run waits for a client, and what the client brought, once', () => {
    expect(actionsOf('resumed')).toEqual([
      'run_started',
      'user_message',
      'api_response_received',
      'tool_execution',
      'awaiting_frontend_tools',
      'frontend_tools_completed',
      'api_response_received',
      'run_completed',
    ]);
    const calls = logs.get('resumed')?.flatMap((event) => (event.type === 'run_paused' ? event.pending : [])) ?? [];
    expect(calls).toMatchObject([{ toolName: 'pick' }]);
    expect(dataOf('resumed', 'awaiting_frontend_tools')).toEqual([{ pending: calls }]);
    expect(dataOf('resumed', 'frontend_tools_completed')).toEqual([{ callIds: calls.map(({ callId }) => callId) }]);
  });

  it('says when a person is asked, and what the answer was', () => {
    expect(actionsOf('denied')).toEqual([
      'run_started',
      'user_message',
      'api_response_received',
      'awaiting_approval',
      'approval_answered',
      'tool_call_rejected',
      'api_response_received',
      'run_completed',
    ]);
    expect(dataOf('denied', 'approval_answered')).toMatchObject([{ decision: 'reject', message: 'Not today.' }]);
    expect(dataOf('denied', 'tool_call_rejected')).toMatchObject([{ toolName: 'write', reason: 'denied' }]);
  });

  it('says when an answer was sent back, and what the memory was told', () => {
    expect(actionsOf('checked')).toEqual([
      'memory_retrieval',
      'run_started',
      'user_message',
      'api_response_received',
      'final_answer_validation_failed',
      'user_message',
      'api_response_received',
      'memory_update',
      'run_completed',
    ]);
    expect(dataOf('checked', 'final_answer_validation_failed')).toEqual([{ message: 'Look again.' }]);
    expect(dataOf('checked', 'memory_update')).toEqual([{ updated: true }]);
    expect(dataOf('checked', 'memory_retrieval')).toEqual([{ found: 0 }]);
  });

  it('says when the view was made smaller, by what and to what, but not what is in it', () => {
    const [compaction] = dataOf('compacted', 'compaction');
    expect(compaction).toMatchObject({
      ok: true,
      trigger: 'auto',
      tokensBefore: expect.any(Number) as number,
      messagesAfter: expect.any(Number) as number,
    });
    expect(compaction).not.toHaveProperty('view');
  });

  it('says when a model call failed, and when a limit had the model close the run', () => {
    expect(dataOf('failed and tried again', 'api_call_failed')).toMatchObject([
      { attempt: 1, error: { kind: 'network' }, retry: { delayMs: 0 } },
      { attempt: 2, error: { kind: 'network' }, cost: null },
    ]);
    expect(actionsOf('closed')).toContain('final_summary_generation');
    expect(dataOf('closed', 'run_completed')).toMatchObject([{ status: 'turn_limit' }]);
  });

  it('has the end of a run that was refused before it began', () => {
    expect(logOf('rejected by a hook')).toMatchObject([
      { action: 'run_completed', step: null, data: { status: 'rejected', message: 'Closed.' } },
    ]);
  });

  it('can be of one run', () => {
    const all = logOf('continued');
    const runIds = [...new Set(all.map(({ runId }) => runId ?? ''))];
    expect(runIds).toHaveLength(3);
    expect(runIds.flatMap((runId) => runLog(logs.get('continued') ?? [], runId))).toEqual(all);
  });
});
