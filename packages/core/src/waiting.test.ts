import { logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { createSession, defineAgent, defineTool, memoryJournal, openSession, type Message } from './index.ts';

const ran: string[] = [];
const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'seen' });
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });
const soon = defineTool({ name: 'soon', description: 'The user is quick.', runs: 'client', timeoutMs: 1000 });
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  approval: 'always',
  execute: (_, { sessionId }) => {
    ran.push(sessionId);
    return 'paid';
  },
});

function world(turns: readonly (Turn | string)[]) {
  ran.length = 0;
  const journal = memoryJournal();
  const clock = testClock();
  const model = scriptedModel(turns);
  const tools = [look, pick, soon, pay];
  const agent = defineAgent({ model, tools, permissions: { answerTimeoutMs: 60_000 } });
  return {
    journal,
    clock,
    agent,
    model,
    open: () => openSession(agent, 's', { journal, clock, resumeOnExpiry: false }),
  };
}

const calls = (...names: string[]): Turn => ({ toolCalls: names.map((name) => ({ name })) });
const outcomes = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool'
      ? [`${message.toolName}: ${message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')}`]
      : [],
  );

describe('a run that waits for a client', () => {
  it('takes the results of several calls one by one, also in other processes, and goes on with the last', async () => {
    const { journal, clock, agent, model, open } = world([calls('pick', 'look', 'pick'), 'Done.']);
    const session = await createSession(agent, { journal, clock, id: 's' });
    const [first, second] = (await session.prompt('Go.').result).pending;
    const waiting = await session.addToolOutput(second?.callId ?? '', 'two').result;
    expect(waiting).toMatchObject({ status: 'paused', pending: [{ callId: first?.callId }] });
    expect(model.requests).toHaveLength(1);
    const fresh = await open();
    expect(() => fresh.addToolOutput(second?.callId ?? '', 'again')).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    );
    const result = await fresh.addToolOutput(first?.callId ?? '', 'one').result;
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(outcomes(result.messages)).toEqual(['pick: one', 'look: seen', 'pick: two']);
  });

  it('goes on in a fresh process with exactly the ids that wait, in the order of the calls, in the next turn', async () => {
    const { journal, clock, agent, model, open } = world([calls('pick', 'look', 'pick'), 'Done.']);
    const session = await createSession(agent, { journal, clock, id: 's' });
    const paused = await session.prompt('Go.').result;
    const paid = (await logOf(journal, 's')).map(({ type }) => type);
    expect(paid.indexOf('tool_ended')).toBeLessThan(paid.indexOf('run_paused'));

    const fresh = await open();
    expect(fresh.pending).toEqual(paused.pending);
    const [first, second] = fresh.pending.map(({ callId }) => callId);
    const given = (...ids: (string | undefined)[]) => ids.map((callId = '') => ({ callId, content: `for ${callId}` }));
    for (const [results, code] of [
      [given(first), 'results_missing'],
      [given(), 'results_missing'],
      [given(first, second, 'call_forged'), 'results_unknown'],
      [given(first, second, second), 'results_duplicate'],
    ] as const) {
      expect(() => fresh.addToolOutputs(results)).toThrow(expect.objectContaining({ code }));
    }
    const result = await fresh.addToolOutputs(given(second, first)).result;
    expect(outcomes(result.messages)).toEqual([`pick: for ${first}`, 'look: seen', `pick: for ${second}`]);
    expect(result).toMatchObject({ status: 'completed', turns: 2, runId: paused.runId });
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant']);
    expect(model.requests[1]?.messages).toHaveLength(5);
    const turns = (await logOf(journal, 's')).flatMap((event) =>
      event.type === 'turn_started' ? [event.turnIndex] : [],
    );
    expect(turns).toEqual([0, 1]);
    for (const late of [fresh, session, await open()]) {
      await late.refresh();
      expect(() => late.addToolOutputs(given(first, second))).toThrow(expect.objectContaining({ code: 'conflict' }));
    }
    expect(() => fresh.addToolOutputs(given('call_x'))).toThrow(expect.objectContaining({ code: 'not_awaiting' }));
  });

  it('V13: gives up on a result after its time, and says so to the model', async () => {
    const { journal, clock, agent, open } = world([calls('soon', 'look'), 'Too bad.']);
    const session = await createSession(agent, { journal, clock, id: 's', resumeOnExpiry: false });
    const { pending } = await session.prompt('Go.').result;
    expect(pending).toMatchObject([{ toolName: 'soon', expiresAt: clock.now() + 1000 }]);
    await clock.advance(999);
    expect((await (await open()).resume().result).status).toBe('paused');
    await clock.advance(1);
    const late = await open();
    const results = pending.map(({ callId }) => ({ callId, content: 'red' }));
    expect(() => late.addToolOutputs(results)).toThrow(expect.objectContaining({ code: 'conflict' }));
    const result = await late.resume().result;
    expect(outcomes(result.messages)).toEqual([expect.stringContaining('No result came in time'), 'look: seen']);
    expect((await logOf(journal, 's')).find((event) => event.type === 'tool_call_rejected')).toMatchObject({
      reason: 'expired',
    });
  });
});

describe('a question with an end', () => {
  it('H4: that nobody answers in time is a no with a reason of its own, in whatever process looks then', async () => {
    const { journal, clock, agent, open } = world([calls('pay'), 'Not paid.']);
    const session = await createSession(agent, { journal, clock, id: 's', resumeOnExpiry: false });
    const { pending } = await session.prompt('Pay.').result;
    const { approvalId = '', expiresAt } = pending[0] ?? {};
    expect(expiresAt).toBe(clock.now() + 60_000);
    expect((await logOf(journal, 's')).find(({ type }) => type === 'approval_requested')).toMatchObject({ expiresAt });
    await clock.advance(60_000);
    for (const late of [session, await open()]) {
      expect(() => late.approve(approvalId)).toThrow(expect.objectContaining({ code: 'conflict' }));
    }
    const result = await (await open()).resume().result;
    expect(outcomes(result.messages)).toEqual([expect.stringContaining('Nobody answered in time')]);
    expect(result).toMatchObject({ status: 'completed', permissionDenials: [{ toolName: 'pay' }] });
    expect(ran).toEqual([]);
    expect((await logOf(journal, 's')).find((event) => event.type === 'tool_call_rejected')).toMatchObject({
      reason: 'expired',
    });
  });

  it('takes an answer that was posted in time, however late it is looked at', async () => {
    const { journal, clock, agent, open } = world([calls('pay'), 'Paid.']);
    const session = await createSession(agent, { journal, clock, id: 's', resumeOnExpiry: false });
    const { pending } = await session.prompt('Pay.').result;
    const answer = { type: 'approval_answer', approvalId: pending[0]?.approvalId ?? '', decision: 'approve' } as const;
    await journal.post('s', answer, 'k', clock.now() + 59_999);
    await clock.advance(1e9);
    const result = await (await open()).resume().result;
    expect(outcomes(result.messages)).toEqual(['pay: paid']);
    expect(ran).toEqual(['s']);
  });

  it('rejects in the log an answer that was posted too late', async () => {
    const { journal, clock, agent, open } = world([calls('pay'), 'Not paid.']);
    const session = await createSession(agent, { journal, clock, id: 's', resumeOnExpiry: false });
    const { pending } = await session.prompt('Pay.').result;
    const answer = { type: 'approval_answer', approvalId: pending[0]?.approvalId ?? '', decision: 'approve' } as const;
    await clock.advance(60_000);
    await journal.post('s', answer, 'k', clock.now());
    await (await open()).resume().result;
    expect(ran).toEqual([]);
    expect((await logOf(journal, 's')).find((event) => event.type === 'input_rejected')).toMatchObject({
      reason: expect.stringContaining('is over') as string,
    });
  });

  it('keeps the decision when the clock is set back afterwards', async () => {
    const { journal, clock, agent } = world([calls('pay'), calls('pick')]);
    const session = await createSession(agent, { journal, clock, id: 's', resumeOnExpiry: false });
    const { pending } = await session.prompt('Pay.').result;
    await clock.advance(60_000);
    await session.resume().result;
    const behind = testClock();
    const later = await openSession(agent, 's', { journal, clock: behind });
    expect(() => later.approve(pending[0]?.approvalId ?? '')).toThrow(expect.objectContaining({ code: 'conflict' }));
    expect(later.pending).toMatchObject([{ toolName: 'pick' }]);
    expect(ran).toEqual([]);
  });

  it('must be some time away', () => {
    for (const answerTimeoutMs of [0, -1, Number.NaN, Infinity]) {
      const permissions = { answerTimeoutMs };
      expect(() => defineAgent({ model: scriptedModel([]), permissions })).toThrow(
        expect.objectContaining({ code: 'invalid_definition' }),
      );
    }
  });
});

describe('an answer', () => {
  it('H4: given twice in one process while the run still works is a conflict the second time', async () => {
    const { journal, clock, agent, open } = world([calls('pay'), 'Paid.']);
    const session = await createSession(agent, { journal, clock, id: 's' });
    const { pending } = await session.prompt('Pay.').result;
    const approvalId = pending[0]?.approvalId ?? '';
    const first = session.approve(approvalId);
    expect(() => session.reject(approvalId)).toThrow(expect.objectContaining({ code: 'conflict' }));
    expect((await first.result).text).toBe('Paid.');
    const other = await open();
    expect(() => other.reject(approvalId)).toThrow(expect.objectContaining({ code: 'conflict' }));
  });

  it('H4: that another process has posted meanwhile is found by the run, which rejects as a conflict', async () => {
    const { journal, clock, agent, open } = world([calls('pay'), 'Paid.']);
    const session = await createSession(agent, { journal, clock, id: 's' });
    const { pending } = await session.prompt('Pay.').result;
    const approvalId = pending[0]?.approvalId ?? '';
    const other = await open();
    const counted = await other.approve(approvalId).result;
    expect(counted.status).toBe('completed');
    await expect(session.reject(approvalId).result).rejects.toMatchObject({ code: 'conflict' });
    expect(ran).toEqual(['s']);
  });
});
