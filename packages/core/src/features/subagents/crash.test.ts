import { crashMatrix, logOf, scriptedModel, type CrashCourse, type CrashLife } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import {
  asTool,
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  openSession,
  type Agent,
} from '../../index.ts';

/** What was done, and what was asked, in all the lives of a course. */
interface World {
  /** Payments, by their idempotency keys. */
  readonly paid: Set<string>;
  readonly stopsAsked: Set<string>;
}

const resultOf = ({ messages }: ModelRequest): string | undefined =>
  messages
    .flatMap((message) => (message.role === 'tool' ? message.content.slice(0, 1) : []))
    .map((block) => (block.type === 'text' ? block.text : ''))
    .at(-1);

/** A boss with a payer, who must be approved to pay, and a reader beside it. */
function agentOf(world: World, life: CrashLife): Agent {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: 'always',
    replay: 'safe',
    execute: (_, { idempotencyKey }) =>
      life.effect('the payment', () => {
        world.paid.add(idempotencyKey);
        return 'paid';
      }),
  });
  const payer = defineAgent({
    id: 'payer',
    model: scriptedModel((request) => {
      const said = resultOf(request);
      return said === undefined ? { toolCalls: [{ name: 'pay' }] } : `It is ${said}.`;
    }),
    tools: [pay],
  });
  const reader = defineAgent({ id: 'reader', model: scriptedModel(() => 'All read.') });
  return defineAgent({
    id: 'boss',
    model: scriptedModel((request) => {
      if (resultOf(request) === undefined) {
        const names = ['payer', 'reader'];
        return { toolCalls: names.map((name) => ({ name, arguments: { prompt: 'Go.' } })) };
      }
      const results = request.messages.flatMap((message) =>
        message.role === 'tool' ? message.content.slice(0, 1) : [],
      );
      return results.map((block) => (block.type === 'text' ? block.text : '')).join(' ');
    }),
    tools: [asTool(payer, { description: 'Pays.' }), asTool(reader, { description: 'Reads.' })],
    hooks: [
      defineHook('subagent_start', () => life.effect('a hook before a sub-agent', () => undefined)),
      defineHook('subagent_stop', ({ childRunId, transcript }) =>
        life.effect('a hook after a sub-agent', () => {
          world.stopsAsked.add(`${childRunId} ${transcript.length}`);
        }),
      ),
    ],
  });
}

function course(): CrashCourse {
  const journal = memoryJournal();
  const world: World = { paid: new Set(), stopsAsked: new Set() };
  return {
    sessionId: 's1',
    open: async () => journal,
    async live(life) {
      const options = { journal: life.journal, clock: life.clock, ids: life.ids, onObserverError: () => {} };
      const agent = agentOf(world, life);
      const { sessions } = await life.journal.list();
      const session = sessions.some(({ sessionId }) => sessionId === 's1')
        ? await openSession(agent, 's1', options)
        : await createSession(agent, { ...options, id: 's1' });
      const log = await logOf(life.journal, 's1');
      const run =
        session.status !== 'idle'
          ? session.resume()
          : log.some(({ type }) => type === 'input_received')
            ? null
            : session.prompt('Pay and read.');
      let result = (await run?.result) ?? null;
      while (result?.status === 'paused') {
        const approvalId = result.pending.find((item) => item.approvalId !== undefined)?.approvalId ?? '';
        result = await session.approve(approvalId).result;
      }
    },
    async outcome(log) {
      const { sessions } = await journal.list();
      const children = log.flatMap((event) => (event.type === 'tool_started' ? (event.childSessionId ?? []) : []));
      return {
        answer: log.findLast((event) => event.type === 'message_added' && event.message.role === 'assistant')?.type,
        said: log
          .flatMap((event) =>
            event.type === 'tool_ended'
              ? event.content.slice(0, 1).map((block) => ('text' in block ? block.text : ''))
              : [],
          )
          .toSorted(),
        payments: world.paid.size,
        stops: world.stopsAsked.size,
        // Every sub-agent was found again, and none was started twice.
        sessions: sessions.length,
        children: new Set(children).size,
        ends: log.flatMap((event) => (event.type === 'run_ended' ? [event.status] : [])),
      };
    },
  };
}

describe('an approval inside of a sub-agent', () => {
  it('S1, S2: survives a death at every write of every log and around every effect, and no sub-agent is started twice', async () => {
    const { moments, courses } = await crashMatrix(course);
    expect(courses).toBe(moments.length);
    for (const moment of [
      'before session_created',
      'after the payment',
      'before tool_paused',
      'after tool_paused',
      'after input approval_answer',
      'before input child_updated',
      'after a hook after a sub-agent',
    ]) {
      expect(moments).toContain(moment);
    }
  });

  it('survives a second death while another process goes on', async () => {
    const { courses } = await crashMatrix(course, { deaths: 2, moments: (moment) => moment % 3 === 1 });
    expect(courses).toBeGreaterThan(20);
  });
});
