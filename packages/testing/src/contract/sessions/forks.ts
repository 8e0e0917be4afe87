import assert from 'node:assert/strict';
import { defineAgent, openSession, sessionsOf } from '@treadle/core';
import { logOf } from '../../log.ts';
import { scriptedModel } from '../../scripted-model.ts';
import { agentWith, codeOf, longSession, said, tools, unanswered, type SessionCases } from './support.ts';

/** Sessions that are forked anywhere, and outlive what they came from. */
export const forkedSessions: SessionCases = {
  async 'S12: forked at every event, goes on by itself with a history that providers take, and leaves its parent alone'({
    journal,
    another,
  }) {
    await longSession(journal);
    const before = await logOf(journal, 'parent');
    const other = await another();
    assert.ok(before.length > 20, 'the parent has events of every kind');
    for (let at = 1; at <= before.length; at += 1) {
      const id = await sessionsOf(journal).fork('parent', { at });
      assert.equal((await logOf(other, id)).length, at + 1, `forked at ${at}, it has what was there and its own start`);
      const model = scriptedModel(['Here I am.']);
      const fork = await openSession(defineAgent({ model, tools }), id, { journal: other });
      assert.equal(fork.status, 'idle', `forked at ${at}, nothing is under way`);
      const { status, runId } = await fork.prompt('And now?').result;
      assert.deepEqual({ at, status, isOwn: runId.startsWith(`${id}.`) }, { at, status: 'completed', isOwn: true });
      assert.deepEqual(unanswered(model.requests[0]?.messages ?? []), [], `forked at ${at}`);
      assert.deepEqual((await logOf(journal, id)).slice(0, at), before.slice(0, at));
    }
    assert.deepEqual(await logOf(other, 'parent'), before);
  },
  async 'S12: forked from a fork, it and its parent are as they were when all they came from is deleted'({
    journal,
    another,
  }) {
    await longSession(journal);
    const sessions = sessionsOf(journal);
    const child = await sessions.fork('parent', { at: 20 });
    const first = await openSession(agentWith('In the child.'), child, { journal });
    await first.prompt('On.').result;
    const grandchild = await sessions.fork(child);
    const logs = [await logOf(journal, child), await logOf(journal, grandchild)];
    await sessions.remove('parent');
    const other = await another();
    assert.deepEqual([await logOf(other, child), await logOf(other, grandchild)], logs);
    await sessions.remove(child);
    assert.deepEqual(await logOf(other, grandchild), logs[1]);
    const session = await openSession(agentWith('In the grandchild.'), grandchild, { journal: other });
    await session.prompt('Further.').result;
    assert.deepEqual(said(session.messages).slice(-4), [
      'user: On.',
      'assistant: In the child.',
      'user: Further.',
      'assistant: In the grandchild.',
    ]);
    for (const gone of ['parent', child]) {
      assert.equal(await codeOf(() => sessions.fork(gone)), 'session_not_found');
      assert.equal(await codeOf(() => logOf(other, gone)), 'session_not_found');
    }
  },
};
