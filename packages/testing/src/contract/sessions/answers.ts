import assert from 'node:assert/strict';
import {
  createSession,
  defineAgent,
  defineTool,
  openSession,
  type Agent,
  type DurableEvent,
  type Journal,
} from '@treadle/core';
import { testClock } from '../../clock.ts';
import { logOf } from '../../log.ts';
import { scriptedModel } from '../../scripted-model.ts';
import { codeOf, type SessionCases } from './support.ts';

/** An agent that asks before it pays, and what it has paid. */
function payer(): { readonly paid: string[]; agent(): Agent } {
  const paid: string[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: 'always',
    execute: (_, { sessionId }) => {
      paid.push(sessionId);
      return 'paid';
    },
  });
  const turn = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { toolCalls: [{ name: 'pay' }] };
  return {
    paid,
    agent: () => defineAgent({ model: scriptedModel(turn), tools: [pay], permissions: { answerTimeoutMs: 60_000 } }),
  };
}

const approvalOf = ({ pending }: { readonly pending: readonly { readonly approvalId?: string }[] }): string =>
  pending[0]?.approvalId ?? '';

/** A session that waits for an approval. */
async function asked(journal: Journal) {
  const { paid, agent } = payer();
  const session = await createSession(agent(), { journal, id: 's' });
  return { paid, agent, session, approvalId: approvalOf(await session.prompt('Pay.').result) };
}

const only = <Type extends DurableEvent['type']>(log: readonly DurableEvent[], type: Type) =>
  log.filter((event): event is Extract<DurableEvent, { type: Type }> => event.type === type);

/** Approvals that are answered when or where they shouldn't be. */
export const answeredSessions: SessionCases = {
  async 'H4: an approval that is answered twice counts once, and every later answer is a conflict'({
    journal,
    another,
  }) {
    const { paid, agent, session, approvalId } = await asked(journal);
    const late = await openSession(agent(), 's', { journal: await another() });
    const first = session.approve(approvalId);
    assert.equal(await codeOf(() => session.reject(approvalId)), 'conflict', 'while the run works');
    assert.equal((await first.result).status, 'completed');
    assert.equal(await codeOf(() => session.reject(approvalId)), 'conflict', 'afterwards');
    // It was opened before the answer, so only the log can tell it.
    assert.equal(await codeOf(() => late.reject(approvalId).result), 'conflict', 'elsewhere');
    assert.deepEqual(paid, ['s']);
    const log = await logOf(journal, 's');
    assert.deepEqual(
      only(log, 'approval_answered').map(({ decision }) => decision),
      ['approve'],
    );
    assert.equal(only(log, 'tool_ended').length, 1);
  },
  async 'H4: an approval that several answer at the same moment is answered once'({ journal, another }) {
    const { paid, agent, approvalId } = await asked(journal);
    const others = await Promise.all(
      [1, 2, 3].map(async () => openSession(agent(), 's', { journal: await another() })),
    );
    const codes = await Promise.all(
      others.map((other, index) => codeOf(() => other[index === 1 ? 'reject' : 'approve'](approvalId).result)),
    );
    // Who has driven the run to its end may be another than whose answer counted.
    for (const code of codes) assert.ok([null, 'conflict', 'session_busy', 'fenced'].includes(code as string | null));
    const last = await openSession(agent(), 's', { journal: await another() });
    if (last.status !== 'idle') await last.resume().result;
    const log = await logOf(journal, 's');
    const answers = only(log, 'approval_answered');
    assert.equal(answers.length, 1);
    assert.deepEqual(paid, answers[0]?.decision === 'approve' ? ['s'] : []);
    assert.deepEqual(
      only(log, 'run_ended').map(({ status: end }) => end),
      ['completed'],
    );
  },
  async 'H4: of two answers in the inbox the first counts, and the log says why the other does not'({
    journal,
    another,
  }) {
    const { paid, agent, approvalId } = await asked(journal);
    const other = await another();
    await other.post('s', { type: 'approval_answer', approvalId, decision: 'reject', message: 'First.' }, 'k1', 0);
    await journal.post('s', { type: 'approval_answer', approvalId, decision: 'approve' }, 'k2', 0);
    const { status: end, messages } = await (await openSession(agent(), 's', { journal: other })).resume().result;
    assert.equal(end, 'completed');
    assert.match(JSON.stringify(messages), /First\./);
    assert.deepEqual(paid, []);
    const rejected = only(await logOf(journal, 's'), 'input_rejected');
    assert.equal(rejected.length, 1);
    assert.match(rejected[0]?.reason ?? '', /No question .* is open/);
  },
  async 'H4: an approval that is answered after its time is a conflict, and was a no'({ journal, another }) {
    const { paid, agent } = payer();
    const clock = testClock();
    const session = await createSession(agent(), { journal, clock, id: 's', resumeOnExpiry: false });
    const approvalId = approvalOf(await session.prompt('Pay.').result);
    const other = await another();
    await clock.advance(60_000);
    for (const late of [session, await openSession(agent(), 's', { journal: other, clock })]) {
      assert.equal(await codeOf(() => late.approve(approvalId)), 'conflict');
    }
    // Also one that is posted past all that could refuse it.
    await other.post('s', { type: 'approval_answer', approvalId, decision: 'approve' }, 'late', clock.now());
    const { status: end } = await (await openSession(agent(), 's', { journal: other, clock })).resume().result;
    assert.equal(end, 'completed');
    assert.deepEqual(paid, []);
    const log = await logOf(journal, 's');
    assert.deepEqual(
      only(log, 'tool_call_rejected').map(({ reason }) => reason),
      ['expired'],
    );
    assert.equal(only(log, 'input_rejected').length, 1);
  },
  async 'H4: an approval that is answered after an abort, or for another session, is a conflict'({ journal, another }) {
    const { paid, agent, session, approvalId } = await asked(journal);
    const other = await another();
    const stranger = await createSession(agent(), { journal: other, id: 'stranger' });
    await stranger.prompt('Pay.').result;
    assert.equal(await codeOf(() => stranger.approve(approvalId)), 'conflict', 'elsewhere');
    // Opened while the question was open: it finds out by the log.
    const late = await openSession(agent(), 's', { journal: other });
    await session.abort();
    assert.equal(await codeOf(() => session.approve(approvalId)), 'conflict', 'aborted');
    assert.equal(await codeOf(() => late.approve(approvalId).result), 'conflict', 'aborted there');
    assert.deepEqual(paid, []);
    assert.equal(stranger.pending.length, 1, 'the stranger still waits for its own');
  },
};
