import { crashMatrix, scriptedModel, type CrashCourse, type CrashLife, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Agent,
  type DurableEvent,
  type Tool,
} from '../../index.ts';

/** What the tools have done to the world, whichever process had them do it. */
type Effects = Map<string, string[]>;

function toolsOf({ effect }: CrashLife, effects: Effects): Tool[] {
  return (['safe', 'never'] as const).map((replay) =>
    defineTool({
      name: replay,
      description: 'Works long.',
      background: true,
      replay,
      execute: (_, { idempotencyKey }) =>
        effect(`the work of ${replay}`, () => {
          effects.set(replay, [...(effects.get(replay) ?? []), idempotencyKey]);
          return `${replay} is done`;
        }),
    }),
  );
}

function reply({ messages }: ModelRequest): Turn {
  const call = (name: string) => ({ name, arguments: { run_in_background: true } });
  if (!messages.some(({ role }) => role === 'tool')) return { toolCalls: [call('safe'), call('never')] };
  const told = messages.filter((message) => message.role === 'user' && message.origin === 'task').length;
  return { text: told < 2 ? 'I wait.' : 'Done.' };
}

const agentOf = (life: CrashLife, effects: Effects): Agent =>
  defineAgent({ model: scriptedModel(reply), tools: toolsOf(life, effects), background: { atEnd: 'wait' } });

const deliveries = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) =>
    event.type === 'message_added' && event.notice?.type === 'task' ? [event.notice.taskId] : [],
  );

function course(): CrashCourse {
  const journal = memoryJournal();
  const effects: Effects = new Map();
  let lives = 0;
  return {
    sessionId: 's1',
    open: () => Promise.resolve(journal),
    async live(life) {
      lives = life.number;
      const options = { journal: life.journal, clock: life.clock, ids: life.ids, onObserverError: () => {} };
      const agent = agentOf(life, effects);
      const { sessions } = await journal.list();
      const session = await (sessions.length > 0
        ? openSession(agent, 's1', options)
        : createSession(agent, { ...options, id: 's1' }));
      if (session.status !== 'idle') await session.resume().result;
      else if (session.messages.length === 0) await session.prompt('Do both.').result;
    },
    outcome(log) {
      const begun = log.flatMap((event) => (event.type === 'task_updated' && event.task ? [event.taskId] : []));
      expect(deliveries(log).toSorted(), 'each result is delivered exactly once').toEqual(begun.toSorted());
      expect(effects.get('never')?.length ?? 0, 'what may not be repeated').toBeLessThanOrEqual(1);
      expect(effects.get('safe')?.length ?? 0).toBeLessThanOrEqual(lives);
      for (const keys of effects.values()) expect(new Set(keys).size, 'one key for all attempts').toBe(1);
      const last = log.findLast((event) => event.type === 'run_ended');
      return last?.type === 'run_ended' ? { end: last.status, tasks: begun.length } : null;
    },
  };
}

describe('background results', () => {
  it('S1, S2: are each delivered exactly once, whenever a process dies', async () => {
    const { moments, courses } = await crashMatrix(course);
    expect(courses).toBe(moments.length);
    for (const moment of ['after input task_ended', 'before task_updated, task_updated', 'after the work of never'])
      expect(moments).toContain(moment);
  });

  it('S1, S2: also when the process that goes on dies too', async () => {
    const { courses, moments } = await crashMatrix(course, { deaths: 2 });
    expect(courses).toBe(moments.length);
  });
});
