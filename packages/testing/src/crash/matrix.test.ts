import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  openSession,
  type Journal,
  type ReplayPolicy,
} from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { crashMatrix, scriptedModel, type CrashCourse, type CrashLife } from '../index.ts';

interface Flaws {
  /** What the journal does wrong. */
  readonly journal?: (journal: Journal) => Partial<Journal>;
  readonly replay?: ReplayPolicy;
  /** What a process does when it finds a session that another has left. */
  readonly reopen?: 'resume' | 'start over' | 'nothing';
  /** How often the tool had its effect: part of the outcome. */
  readonly countsEffects?: boolean;
}

/** One call of one tool, and an answer. */
function course({ journal: flaw, replay = 'safe', reopen = 'resume', countsEffects = false }: Flaws = {}): CrashCourse {
  const memory = memoryJournal();
  const journal = { ...memory, ...flaw?.(memory) };
  let effects = 0;
  const agentOf = (life: CrashLife) =>
    defineAgent({
      model: scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Done.' : { toolCalls: [{ name: 'act' }] },
      ),
      tools: [
        defineTool({
          name: 'act',
          description: 'Acts.',
          replay,
          execute: () =>
            life.effect('the act', () => {
              effects += 1;
              return 'acted';
            }),
        }),
      ],
      hooks: [defineHook('before_turn', () => life.effect('a hook', () => undefined))],
    });
  return {
    sessionId: 's',
    open: async () => journal,
    async live(life) {
      const options = { journal: life.journal, clock: life.clock, ids: life.ids };
      const { sessions } = await life.journal.list();
      const isNew = sessions.length === 0;
      const agent = agentOf(life);
      const session = isNew
        ? await createSession(agent, { ...options, id: 's' })
        : await openSession(agent, 's', options);
      if (session.status !== 'idle' && reopen === 'resume') await session.resume().result;
      else if (session.status !== 'idle' ? reopen === 'start over' : session.messages.length === 0) {
        await session.prompt('Go.').result;
      }
    },
    outcome: (log) => ({
      ends: log.filter(({ type }) => type === 'run_ended').length,
      ...(countsEffects ? { effects } : {}),
    }),
  };
}

const failures = (flaws: Flaws): Promise<string> =>
  crashMatrix(() => course(flaws)).then(
    () => 'none',
    (error: unknown) => String(error),
  );

describe('crashMatrix', () => {
  it('kills at each write, before and after it is durable, and around each effect', async () => {
    const { moments, courses } = await crashMatrix(() => course());
    expect(courses).toBe(moments.length);
    expect(moments.slice(0, 4)).toEqual([
      'before session_created',
      'after session_created',
      'before drive_started',
      'after drive_started',
    ]);
    expect(moments).toEqual(expect.arrayContaining(['before tool_started', 'before the act', 'after the act']));
  });

  it('kills only at the moments that were chosen, and says how many there are', async () => {
    const { moments, courses } = await crashMatrix(() => course(), { moments: (moment, all) => moment === all - 1 });
    expect([moments.length > 20, courses]).toEqual([true, 1]);
  });

  it.each<[string, Flaws, RegExp]>([
    ['work that is done again', { countsEffects: true }, /after the act\): the outcome is/],
    ['a run that nobody goes on with', { reopen: 'nothing' }, /has no end/],
    ['a run that is thrown away', { reopen: 'start over' }, /the outcome is/],
    [
      'a journal that forgets what it has acknowledged',
      {
        journal: (journal) => ({
          async *read(sessionId, from) {
            for await (const event of journal.read(sessionId, from)) if (event.type !== 'turn_ended') yield event;
          },
        }),
      },
      /the log has a gap|follows event/,
    ],
    [
      'a journal that changes what it has acknowledged',
      {
        journal: (journal) => ({
          async *read(sessionId, from) {
            for await (const event of journal.read(sessionId, from))
              yield event.type === 'turn_ended' ? { ...event, at: 1 } : event;
          },
        }),
      },
      /turn_ended\) was acknowledged and is lost/,
    ],
  ])('notices %s', async (_, flaws, expected) => {
    expect(await failures(flaws)).toMatch(expected);
  });

  it('has nothing against work that may not be repeated and is not', async () => {
    expect(await failures({ replay: 'never' })).toBe('none');
  });
});
