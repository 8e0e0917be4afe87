import { scriptedModel, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import type { DurableEvent } from '../../events/events.ts';
import { defineAgent } from '../../agent/agent.ts';
import type { Journal } from '../../journal/journal.ts';
import { memoryJournal } from '../../journal/memory.ts';
import { createSession, openSession } from '../../session/session.ts';
import { defineTool } from '../../tools/define/define.ts';
import type { ToolAnswer, ToolContext } from '../../tools/tool.ts';

const PLACE = { key: 'seat', question: 'Which seat?', arguments: { rows: 30 }, state: { held: 'ticket-7' } };

/** A tool that books once it knows the seat, and the answers that each of its attempts was given. */
function booking(questions = [PLACE]) {
  const attempts: (readonly ToolAnswer[])[] = [];
  const tool = defineTool({
    name: 'book',
    description: 'Books.',
    execute: (_, { answers = [] }: ToolContext) => {
      attempts.push(answers);
      const ask = questions.find(({ key }) => !answers.some((answer) => answer.key === key));
      if (ask) return { content: 'Nobody can be asked.', isError: true, ask };
      return answers.map(({ decision, input }) => `${decision} ${JSON.stringify(input ?? null)}`).join(', ');
    },
  });
  return { tool, attempts };
}

async function eventsOf(journal: Journal): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of journal.read('s', 1)) events.push(event);
  return events;
}

const CALL = { toolCalls: [{ name: 'book' }] };

async function asked(questions = [PLACE], more: object = {}) {
  const journal = memoryJournal();
  const clock = testClock();
  const { tool, attempts } = booking(questions);
  const agent = defineAgent({ model: scriptedModel([CALL, 'Done.']), tools: [tool], ...more });
  const session = await createSession(agent, { journal, clock, id: 's' });
  const result = await session.prompt('Book.').result;
  return { journal, clock, agent, session, attempts, result, tool };
}

describe('a call that asks', () => {
  it('pauses the run with its question, which stands in the log', async () => {
    const { session, result, journal } = await asked();
    expect(result.status).toBe('paused');
    expect(session.pending).toEqual(
      [
        {
          type: 'question',
          callId: expect.any(String) as string,
          toolName: 'book',
          arguments: { rows: 30 },
          question: 'Which seat?',
          key: 'seat',
        },
      ].map((call) => ({ ...call, approvalId: `question_${session.pending[0]?.callId}_1` })),
    );
    const event = (await eventsOf(journal)).find(({ type }) => type === 'approval_requested');
    expect(event).toMatchObject({ question: 'Which seat?', key: 'seat', state: { held: 'ticket-7' } });
  });

  it('runs again with the answer, in the process that has it', async () => {
    const { session, attempts } = await asked();
    const id = session.pending[0]?.approvalId ?? '';
    const { text } = await session.approve(id, { updatedInput: { seat: '4A' } }).result;
    expect(text).toBe('Done.');
    const answer = { key: 'seat', decision: 'approve', input: { seat: '4A' }, state: { held: 'ticket-7' } };
    expect(attempts).toEqual([[], [answer]]);
  });

  it('is answered in another process, although it must never run twice by itself', async () => {
    const { journal, clock, agent, attempts } = await asked();
    const elsewhere = await openSession(agent, 's', { journal, clock });
    const id = elsewhere.pending[0]?.approvalId ?? '';
    const result = await elsewhere.reject(id).result;
    expect(result.messages.find(({ role }) => role === 'tool')).toMatchObject({
      content: [{ text: 'reject null' }],
      isError: false,
    });
    expect(attempts).toHaveLength(2);
  });

  it('may ask again, and keeps the answers it has', async () => {
    const { session, attempts } = await asked([PLACE, { ...PLACE, key: 'meal' }]);
    await session.approve(session.pending[0]?.approvalId ?? '').result;
    expect(session.pending).toHaveLength(1);
    await session.approve(session.pending[0]?.approvalId ?? '').result;
    expect(attempts.map((answers) => answers.map(({ key }) => key))).toEqual([[], ['seat'], ['seat', 'meal']]);
  });

  it('ends with its run when the answer says so', async () => {
    const { session, attempts } = await asked();
    const result = await session.reject(session.pending[0]?.approvalId ?? '', {
      interrupt: true,
      message: 'Stop.',
    }).result;
    expect(result.status).not.toBe('completed');
    expect(attempts).toHaveLength(1);
    expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
  });

  it('has a result when nobody answers in time', async () => {
    const { session, clock, attempts } = await asked([PLACE], { permissions: { answerTimeoutMs: 1000 } });
    await clock.advance(1000);
    await expect.poll(() => session.status !== 'idle').toBe(false);
    expect(JSON.stringify(session.messages)).toContain('Nobody answered in time what book asked');
    expect(attempts).toHaveLength(1);
  });

  it('is answered for when the tool is gone', async () => {
    const { journal, clock } = await asked();
    const without = defineAgent({ model: scriptedModel(['Gone.']) });
    const elsewhere = await openSession(without, 's', { journal, clock });
    const { text, messages } = await elsewhere.approve(elsewhere.pending[0]?.approvalId ?? '').result;
    expect(text).toBe('Gone.');
    expect(JSON.stringify(messages)).toContain('There is no tool named');
  });

  it('runs out of doubt again once it has started again', async () => {
    const { journal, clock, tool } = await asked();
    const model = scriptedModel(['Told.']);
    let created = 0;
    // The journal takes both for one process, whose first drive is dead.
    const ids = { create: (kind: string) => (kind === 'drive' ? 'drive' : `${kind}_${++created}`) };
    const dying = { ...tool, execute: () => new Promise<string>(() => {}) };
    const first = await openSession(defineAgent({ model, tools: [dying] }), 's', { journal, clock, ids });
    const run = first.approve(first.pending[0]?.approvalId ?? '');
    run.result.catch(() => {});
    for await (const event of run) if (event.type === 'tool_started') break;
    const second = await openSession(defineAgent({ model, tools: [tool] }), 's', { journal, clock, ids });
    const { messages } = await second.resume().result;
    expect(JSON.stringify(messages)).toContain('Whether it took effect is unknown');
  });

  it('asks nothing any more once it was cancelled', async () => {
    const journal = memoryJournal();
    const late = defineTool({
      name: 'book',
      description: 'Books.',
      execute: (_, { signal }: ToolContext) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ content: 'Too late.', ask: PLACE }));
        }),
    });
    const session = await createSession(defineAgent({ model: scriptedModel([CALL]), tools: [late] }), {
      journal,
      id: 's',
    });
    const run = session.prompt('Book.');
    for await (const event of run) if (event.type === 'tool_started') void session.abort();
    expect((await run.result).status).toBe('aborted');
    expect((await eventsOf(journal)).some(({ type }) => type === 'approval_requested')).toBe(false);
  });

  it('holds those after it back when it is sequential', async () => {
    const { tool } = booking();
    const ran: string[] = [];
    const note = defineTool({ name: 'note', description: 'Notes.', execute: () => void ran.push('note') });
    const model = scriptedModel([{ toolCalls: [{ name: 'book' }, { name: 'note' }] }, 'Done.']);
    const session = await createSession(defineAgent({ model, tools: [{ ...tool, execution: 'sequential' }, note] }));
    await session.prompt('Book.').result;
    expect(ran).toEqual([]);
    await session.approve(session.pending[0]?.approvalId ?? '').result;
    expect(ran).toEqual(['note']);
  });

  it('in the background fails with its own words, for nobody can be asked there', async () => {
    const { tool } = booking();
    const background = { toolCalls: [{ name: 'book', arguments: { run_in_background: true } }] };
    const agent = defineAgent({
      model: scriptedModel([background, 'Waiting.', 'Told.', 'Told.']),
      tools: [{ ...tool, background: true }],
      background: true,
    });
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's' });
    await session.prompt('Book.').result;
    await session.close();
    expect(JSON.stringify(await eventsOf(journal))).toContain('Nobody can be asked.');
  });
});
