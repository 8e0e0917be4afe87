import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, type ScriptedModel, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type DurableEvent,
  type Limits,
  type Message,
  type Session,
  type ToolExecution,
} from '../../index.ts';
import { SKIPPED } from './queues.ts';

const textsOf = (messages: readonly Message[]): string[] =>
  messages.map((message) =>
    message.role === 'extension'
      ? message.kind
      : message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('+'),
  );

/** An agent whose tool says something into its own session when it runs. */
async function sessionThat(
  turns: readonly (Turn | string)[],
  act: (session: Session, step: string) => unknown,
  definition: Partial<AgentDefinition> = {},
): Promise<{ session: Session; model: ScriptedModel; ran: string[]; log: () => Promise<DurableEvent[]> }> {
  const ran: string[] = [];
  const held: { session?: Session } = {};
  const work = defineTool({
    name: 'work',
    description: 'Works.',
    inputSchema: { type: 'object', properties: { step: { type: 'string' } } },
    execute: async ({ step = '' }) => {
      ran.push(step);
      if (held.session) await act(held.session, step);
      return `did ${step}`;
    },
  });
  const model = scriptedModel(turns);
  const journal = memoryJournal();
  const session = await createSession(defineAgent({ model, tools: [work], ...definition }), { journal, id: 's1' });
  held.session = session;
  return { session, model, ran, log: () => logOf(journal, 's1') };
}

const calls = (...steps: readonly string[]): Turn => ({
  toolCalls: steps.map((step) => ({ name: 'work', arguments: { step } })),
});

describe('steering between calls', () => {
  const steer = (session: Session, step: string): unknown => (step === 'a' ? session.steer('Stop that.') : undefined);

  it('skips the calls of the turn that have not started, with a start, an end and a result in one append', async () => {
    const { session, model, ran, log } = await sessionThat([calls('a', 'b', 'c'), 'All right.'], steer, {
      toolExecution: { mode: 'sequential' },
    });
    const result = await session.prompt('Go.').result;
    expect(ran).toEqual(['a']);
    expect(result).toMatchObject({ status: 'completed', undelivered: [] });
    expect(textsOf(model.requests[1]?.messages ?? [])).toEqual([
      'Go.',
      'tool_call+tool_call+tool_call',
      'did a',
      SKIPPED,
      SKIPPED,
      'Stop that.',
    ]);
    const skipped = (await log()).filter((event) => 'skipped' in event && event.skipped);
    expect(skipped.map(({ type }) => type)).toEqual(['tool_started', 'tool_ended', 'tool_started', 'tool_ended']);
    expect(skipped[1]).toMatchObject({ isError: true, durationMs: 0, content: [{ type: 'text', text: SKIPPED }] });
    const numbers = skipped.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
  });

  it('waits for the batch that is running', async () => {
    const { session, ran } = await sessionThat([calls('a', 'b', 'c', 'd'), 'All right.'], steer, {
      toolExecution: { mode: 'batched', size: 2 },
    });
    await session.prompt('Go.').result;
    expect(ran).toEqual(['a', 'b']);
  });

  it('skips nothing when calls run side by side', async () => {
    const { session, model, ran } = await sessionThat([calls('a', 'b'), 'All right.'], steer);
    await session.prompt('Go.').result;
    expect(ran).toEqual(['a', 'b']);
    expect(textsOf(model.requests[1]?.messages ?? []).slice(-1)).toEqual(['Stop that.']);
  });

  it('that was there before the first call skips nothing: it came with the turn before', async () => {
    const { session, ran } = await sessionThat([calls('a', 'b'), 'Done.'], () => {}, {
      toolExecution: { mode: 'sequential' },
    });
    await session.steer('Be quick.');
    await session.prompt('Go.').result;
    expect(ran).toEqual(['a', 'b']);
  });
});

describe('a queue', () => {
  it.each([
    ['one_at_a_time', [['One'], ['Two']]],
    ['all', [['One', 'Two']]],
  ] as const)('of steering is emptied %s', async (steeringMode, expected) => {
    const model = scriptedModel(['A.', 'B.', 'C.']);
    const session = await createSession(defineAgent({ model, steeringMode }));
    await session.steer('One');
    await session.steer('Two');
    await session.prompt('Go.').result;
    const heard = model.requests.map(({ messages }) =>
      textsOf(messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)).filter(
        (t) => t !== 'Go.',
      ),
    );
    expect(heard).toEqual(expected);
  });

  it.each([
    ['one_at_a_time', 3],
    ['all', 2],
  ] as const)(
    'of follow-ups is emptied %s, and each delivery starts the loop again',
    async (followUpMode, requests) => {
      const model = scriptedModel(['A.', 'B.', 'C.']);
      const session = await createSession(defineAgent({ model, followUpMode }));
      await session.followUp('One');
      await session.followUp('Two');
      expect((await session.prompt('Go.').result).status).toBe('completed');
      expect(model.requests).toHaveLength(requests);
    },
  );

  it('can be listed and taken back, by kind or all of it, and says what was taken back', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['Hi.']) }));
    await session.steer('One');
    await session.followUp('Two');
    await session.followUp('Three');
    const shown = (await session.queued()).map(({ kind, message }) => [
      kind,
      textsOf([{ role: 'user', id: '', at: 0, origin: 'steering', ...message }])[0],
    ]);
    expect(shown).toEqual([
      ['steering', 'One'],
      ['follow_up', 'Two'],
      ['follow_up', 'Three'],
    ]);
    expect((await session.clearQueue('follow_up')).map(({ kind }) => kind)).toEqual(['follow_up', 'follow_up']);
    expect((await session.queued()).map(({ kind }) => kind)).toEqual(['steering']);
    expect(await session.clearQueue()).toHaveLength(1);
    expect(await session.queued()).toEqual([]);
    const result = await session.prompt('Go.').result;
    expect(textsOf(result.messages)).toEqual(['Go.', 'Hi.']);
  });

  it('is the same from another handle of the session', async () => {
    const journal = memoryJournal();
    const agent = defineAgent({ model: scriptedModel(['Hi.']) });
    const session = await createSession(agent, { journal, id: 's1' });
    const other = await openSession(agent, 's1', { journal });
    await session.followUp('One');
    expect(await other.queued()).toEqual(await session.queued());
    expect(await other.clearQueue()).toHaveLength(1);
    expect(await session.queued()).toEqual([]);
  });

  it('rejects a mode that there is none of', () => {
    const model = scriptedModel([]);
    expect(() => defineAgent({ model, steeringMode: 'some' as 'all' })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});

describe('a conversation that is replaced', () => {
  it('takes what was queued for it along, and the log says so', async () => {
    const journal = memoryJournal();
    const session = await createSession(defineAgent({ model: scriptedModel(['Hi.']) }), { journal, id: 's1' });
    await session.reset();
    await session.followUp('About the old one.');
    await session.reset();
    expect(await session.queued()).toEqual([]);
    const inputs = (await logOf(journal, 's1')).flatMap((event) =>
      event.type === 'input_received' ? [event.input.type] : [],
    );
    expect(inputs).toEqual(['import', 'follow_up', 'clear_queue', 'import']);
  });
});

describe('what a run does not deliver', () => {
  it('is reported by its end, in the same append, and in its result', async () => {
    const { session, log } = await sessionThat([calls('a')], (own) => own.followUp('And then?'), {
      limits: { maxTurns: 1 },
    });
    const result = await session.prompt('Go.').result;
    expect(result).toMatchObject({
      status: 'turn_limit',
      undelivered: [{ kind: 'follow_up', message: { content: [{ type: 'text', text: 'And then?' }] } }],
    });
    const events = await log();
    expect(events.at(-2)).toMatchObject({
      type: 'input_rejected',
      runId: result.runId,
      reason: 'Not delivered: the run ended first (turn_limit).',
    });
    expect(events.at(-1)?.type).toBe('run_ended');
    expect(await session.queued()).toEqual([]);
  });

  it('is kept for the next run when it was queued before this one', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['A.']), limits: { maxTurns: 1 } }));
    await session.followUp('Later.');
    expect((await session.prompt('Go.').result).undelivered).toEqual([]);
    expect(await session.queued()).toHaveLength(1);
  });
});

describe('any queued message', () => {
  const what = fc.constantFrom('steer', 'followUp', 'clear', 'clearSteering', 'abort');
  const interferences = fc.array(fc.record({ at: fc.integer({ min: 1, max: 30 }), what }), { maxLength: 8 });
  const world = fc.record({
    interferences,
    turns: fc.array(
      fc.constantFrom<Turn>(calls('a'), calls('b', 'c'), calls('d', 'e', 'f'), { text: 'Done.' }, { text: '' }),
      { maxLength: 5 },
    ),
    steeringMode: fc.constantFrom('one_at_a_time' as const, 'all' as const),
    followUpMode: fc.constantFrom('one_at_a_time' as const, 'all' as const),
    toolExecution: fc.constantFrom<ToolExecution>(
      { mode: 'parallel' },
      { mode: 'sequential' },
      { mode: 'batched', size: 2 },
    ),
    limits: fc.constantFrom<Partial<Limits>>(
      {},
      { maxTurns: 2 },
      { maxToolCalls: 2 },
      { maxToolTurns: 1 },
      { maxTotalTokens: 40 },
    ),
  });

  it('is delivered once, taken back, or reported: whatever is posted when, whatever ends the run', async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ interferences: acts, turns, ...definition }) => {
        const script = [...turns, ...Array.from({ length: 12 }, () => 'Done.')];
        const { session, log } = await sessionThat(script, () => {}, definition);
        const posted: Promise<unknown>[] = [];
        let heard = 0;
        session.subscribe(() => {
          heard += 1;
          for (const act of acts) {
            if (act.at !== heard) continue;
            if (act.what === 'abort') posted.push(session.abort());
            else if (act.what === 'clear') posted.push(session.clearQueue());
            else if (act.what === 'clearSteering') posted.push(session.clearQueue('steering'));
            else posted.push(session[act.what](`message ${heard}`));
          }
        });
        const result = await session.prompt('Go.').result;
        await Promise.all(posted);
        await session.idle();
        const events = await log();
        const ends = events.filter(({ type }) => type === 'run_ended');
        expect(ends).toHaveLength(1);
        const begin = events.find(({ type }) => type === 'run_started');
        const fates = new Map<number, string[]>();
        let waiting: { seq: number; type: string }[] = [];
        for (const event of events) {
          const settled =
            event.type === 'message_added' || event.type === 'input_rejected' ? event.inputSeq : undefined;
          if (settled !== undefined) {
            fates.get(settled)?.push(event.type);
            waiting = waiting.filter(({ seq }) => seq !== settled);
          }
          if (event.type !== 'input_received') continue;
          const { type } = event.input;
          if (type === 'steering' || type === 'follow_up') {
            fates.set(event.seq, []);
            waiting.push({ seq: event.seq, type });
          } else if (type === 'clear_queue') {
            const { kind } = event.input;
            const taken = waiting.filter((entry) => kind === undefined || entry.type === kind);
            for (const { seq } of taken) fates.get(seq)?.push('taken back');
            waiting = waiting.filter((entry) => !taken.includes(entry));
          }
        }
        const after = new Set((await session.queued()).map(({ seq }) => seq));
        for (const [seq, fate] of fates) {
          // What came before the run or after it waits for the next one.
          expect(fate).toHaveLength(after.has(seq) ? 0 : 1);
          const during = seq > (begin?.seq ?? 0) && seq < (ends[0]?.seq ?? 0);
          if (after.has(seq)) expect(during).toBe(false);
        }
        const reported = [...fates.values()].filter(([fate]) => fate === 'input_rejected').length;
        expect(result.undelivered).toHaveLength(reported);
        for (const event of events) {
          if (event.type !== 'tool_started' || !event.skipped) continue;
          expect(events.some((end) => end.type === 'tool_ended' && end.callId === event.callId && end.skipped)).toBe(
            true,
          );
        }
      }),
      { numRuns: 300 },
    );
  });
});
