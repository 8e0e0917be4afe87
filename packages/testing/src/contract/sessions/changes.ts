import assert from 'node:assert/strict';
import { createSession, defineAgent, memoryJournal, openSession } from '@treadle/core';
import { journalOf, logOf } from '../../log.ts';
import { scriptedModel } from '../../scripted-model.ts';
import type { Turn } from '../../turns.ts';
import { act, agentWith, look, said, type SessionCases } from './support.ts';

const resultsIn = (messages: Parameters<typeof said>[0]): string[] =>
  said(messages).filter((line) => line.startsWith('tool: '));

/** Sessions that are opened when something they were begun with is gone. */
export const changedSessions: SessionCases = {
  async 'S14: whose tool is gone tells the model, whether it was asked about or waited for, and keeps its history'({
    journal,
    another,
  }) {
    const other = await another();
    for (const [name, answer] of [
      ['pay', 'There is no tool named "pay"'],
      ['pick', 'red'],
    ] as const) {
      const session = await createSession(agentWith({ toolCalls: [{ name }] }), { journal, id: name });
      await session.prompt('Go.').result;
      const agent = defineAgent({ id: 'helper', model: scriptedModel(['I see.']), tools: [look] });
      const later = await openSession(agent, name, { journal: other });
      assert.deepEqual(said(later.messages).slice(0, 1), ['user: Go.']);
      const { callId = '', approvalId } = later.pending[0] ?? {};
      const run =
        approvalId === undefined ? later.addToolOutputs([{ callId, content: 'red' }]) : later.approve(approvalId);
      const result = await run.result;
      assert.equal(result.status, 'completed');
      assert.equal(resultsIn(result.messages).length, 1);
      assert.ok(resultsIn(result.messages)[0]?.includes(answer));
    }
  },
  async 'S14: whose tool is gone while a call of it is in doubt never runs it, and says that its effect is unknown'({
    journal,
    another,
  }) {
    const elsewhere = memoryJournal();
    const whole = await createSession(agentWith({ toolCalls: [{ name: 'look' }] }, 'Ok.'), {
      journal: elsewhere,
      id: 's',
    });
    await whole.prompt('Go.').result;
    const log = await logOf(elsewhere, 's');
    await journalOf(log.slice(0, log.findIndex(({ type }) => type === 'tool_started') + 1), journal);
    const agent = defineAgent({ id: 'helper', model: scriptedModel(['I see.']), tools: [act] });
    const later = await openSession(agent, 's', { journal: await another() });
    const result = await later.resume().result;
    assert.equal(result.status, 'completed');
    assert.equal(resultsIn(result.messages).length, 1);
    assert.match(resultsIn(result.messages)[0] ?? '', /Whether it took effect is unknown/);
  },
  async 'S14: whose model is gone says so, keeps its history readable, and goes on with another model'({
    journal,
    another,
  }) {
    const session = await createSession(agentWith('Hello.'), { journal, id: 's' });
    await session.prompt('Hi.').result;
    const error = { kind: 'api', status: 404, message: 'There is no helper-1.', retryable: false } as const;
    const withModel = async (turn: Turn | string, id: string) =>
      openSession(defineAgent({ id: 'helper', model: scriptedModel([turn], { id }) }), 's', {
        journal: await another(),
      });
    const later = await withModel({ error }, 'helper-1');
    assert.deepEqual(said(later.messages), ['user: Hi.', 'assistant: Hello.']);
    const failed = await later.prompt('Again?').result;
    assert.deepEqual([failed.status, failed.error?.message], ['model_error', error.message]);
    const other = await withModel('Here again.', 'helper-2');
    assert.equal((await other.continue().result).text, 'Here again.');
    assert.equal(said(other.messages).length, 4);
  },
};
