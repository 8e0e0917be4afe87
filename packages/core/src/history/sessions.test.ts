import { logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { branchSession, rerunSession } from '../entries/history.ts';
import { sessionTree } from '../entries/projections.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openLatest,
  openSession,
  sessionsOf,
  type Message,
} from '../index.ts';

const act = defineTool({ name: 'act', description: 'Acts.', execute: () => 'acted' });
const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'seen' });
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'paid' });
const tools = [act, look, pick, pay];

const agentWith = (...turns: readonly (Turn | string)[]) =>
  defineAgent({ id: 'helper', model: scriptedModel(turns), tools });

const said = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'extension'
      ? []
      : [
          `${message.role}: ${message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join()}`,
        ],
  );

describe('a fork', () => {
  it('answers the calls that were under way with "unknown: forked", and runs none of them', async () => {
    const journal = memoryJournal();
    const ran: string[] = [];
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const charge = defineTool({
      name: 'charge',
      description: 'Charges.',
      readOnly: true,
      async execute(_, { sessionId }) {
        ran.push(sessionId);
        started.resolve();
        await finish.promise;
        return 'charged';
      },
    });
    const agent = defineAgent({ model: scriptedModel([{ toolCalls: [{ name: 'charge' }] }, 'Ok.']), tools: [charge] });
    const session = await createSession(agent, { journal, id: 'parent' });
    const run = session.prompt('Charge it.');
    await started.promise;
    const id = await sessionsOf(journal).fork('parent');
    finish.resolve();
    await run.result;

    const model = scriptedModel(['Let me check.']);
    const fork = await openSession(defineAgent({ model, tools: [charge] }), id, { journal });
    await fork.continue().result;
    expect(ran).toEqual(['parent']);
    expect(said(model.requests[0]?.messages ?? []).at(-1)).toContain('Unknown: forked');
    const ends = (await logOf(journal, id)).filter((event) => event.type === 'run_ended');
    expect(ends.map(({ status }) => status)).toEqual(['aborted', 'completed']);
  });

  it('leaves what waits to be delivered, and the questions that are open, to its parent', async () => {
    const journal = memoryJournal();
    const agent = agentWith({ toolCalls: [{ name: 'pay' }] }, 'Paid.');
    const session = await createSession(agent, { journal, id: 'parent' });
    const { pending } = await session.prompt('Pay.').result;
    await session.followUp('Thanks.');
    const id = await sessionsOf(journal).fork('parent');
    const fork = await openSession(agentWith('Not paid.'), id, { journal });
    expect(await fork.queued()).toEqual([]);
    const approvalId = pending[0]?.approvalId ?? '';
    expect(() => fork.approve(approvalId)).toThrow();
    expect((await fork.prompt('What now?').result).text).toBe('Not paid.');
    const { text } = await session.approve(approvalId).result;
    expect(text).toBe('Paid.');
  });

  it('can be reset and filled with other messages, also where a run was open', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith({ toolCalls: [{ name: 'pick' }] }), { journal, id: 'parent' });
    await session.prompt('Pick.').result;
    const fork = await openSession(agentWith('New.'), await sessionsOf(journal).fork('parent'), { journal });
    await fork.reset();
    await fork.prompt('Afresh.').result;
    expect(said(fork.messages)).toEqual(['user: Afresh.', 'assistant: New.']);
  });

  it('has its parent’s agent and metadata, and a title and tags of its own', async () => {
    const journal = memoryJournal();
    const sessions = sessionsOf(journal);
    const options = { journal, id: 'parent', title: 'Parent', tags: ['x'], metadata: { team: 'a' } };
    await createSession(agentWith(), options);
    const id = await sessions.fork('parent', { title: 'Child' });
    const [row] = (await sessions.list({ agentId: 'helper' })).sessions;
    expect(row).toMatchObject({ sessionId: id, title: 'Child', parent: { sessionId: 'parent', seq: 1 } });
    expect(row).not.toHaveProperty('tags');
    expect((await logOf(journal, id)).at(-1)).toMatchObject({ metadata: { team: 'a' }, fork: { seq: 1 } });
    await expect(sessions.fork('parent', { id })).rejects.toMatchObject({ code: 'session_exists' });
    await expect(sessions.fork('parent', { at: 2 })).rejects.toMatchObject({ code: 'session_not_found' });
    await expect(sessions.fork('nobody')).rejects.toMatchObject({ code: 'session_not_found' });
  });
});

describe('doing a run again', () => {
  it('asks the same from what was before it, in a fork, as a rerun with a tag', async () => {
    const journal = memoryJournal();
    const clock = testClock();
    const session = await createSession(agentWith('One.', 'Two.', 'Three.'), { journal, id: 's', clock });
    const results = [];
    for (const text of ['First?', 'Second?', 'Third?']) results.push(await session.prompt(text).result);
    const again = await rerunSession(agentWith('Two, again.'), 's', { journal, clock, runId: results[1]?.runId ?? '' });
    await again.run.result;
    expect(said(again.session.messages)).toEqual([
      'user: First?',
      'assistant: One.',
      'user: Second?',
      'assistant: Two, again.',
    ]);
    const started = (await logOf(journal, again.session.id)).findLast((event) => event.type === 'run_started');
    expect(started).toMatchObject({
      runId: `${again.session.id}.scripted.scripted.2`,
      parentRunId: 's.scripted.scripted.1',
      continuation: { kind: 'rerun', tag: '2025-01-01T00:00:00.000Z', of: results[1]?.runId },
    });
    expect(said(session.messages)).toHaveLength(6);
    const latest = await rerunSession(agentWith('Three, again.'), 's', { journal, tag: 'mine' });
    expect((await latest.run.result).text).toBe('Three, again.');
  });

  it('is linked with the run that it does again, also where that was the first of its session', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith('Heads.'), { journal, id: 's' });
    const { runId } = await session.prompt('Toss a coin.').result;
    const again = await rerunSession(agentWith('Tails.'), 's', { journal });
    await again.run.result;
    const started = (await logOf(journal, again.session.id)).findLast((event) => event.type === 'run_started');
    expect(started).toMatchObject({ parentRunId: runId, continuation: { of: runId } });
  });

  it('also works for a run that went on without a prompt, and for prompts that waited for others', async () => {
    const journal = memoryJournal();
    const error = { kind: 'api', message: 'Broken.', retryable: false } as const;
    const session = await createSession(agentWith({ error }, { error }), { journal, id: 's' });
    await session.prompt('Hello?').result;
    await session.continue().result;
    const { run, session: fork } = await rerunSession(agentWith('Hello!'), 's', { journal });
    expect((await run.result).text).toBe('Hello!');
    expect(said(fork.messages)).toEqual(['user: Hello?', 'assistant: Hello!']);
    await expect(rerunSession(agentWith(), 's', { journal, runId: 'nope' })).rejects.toMatchObject({
      code: 'nothing_to_continue',
      message: expect.stringContaining('no run nope') as string,
    });
  });
});

describe('a branch', () => {
  it('takes another path instead of a run, or from an event, as a branch with a tag', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith('Red.', 'Blue.'), { journal, id: 's' });
    const first = await session.prompt('A colour?').result;
    await session.prompt('Another?').result;
    const instead = { journal, instead: first.runId, prompt: 'A number?', tag: 't' };
    const one = await branchSession(agentWith('Seven.'), 's', instead);
    await one.run.result;
    expect(said(one.session.messages)).toEqual(['user: A number?', 'assistant: Seven.']);
    const events = await logOf(journal, one.session.id);
    expect(events.find((event) => event.type === 'turn_started')).toMatchObject({ triggeredBy: 'branch' });
    expect(events.find((event) => event.type === 'run_started')).toMatchObject({
      parentRunId: first.runId,
      continuation: { kind: 'branch', tag: 't', of: first.runId },
    });

    const log = await logOf(journal, 's');
    const at = log.find((event) => event.type === 'run_ended')?.seq ?? 0;
    const two = await branchSession(agentWith('Green.'), 's', { journal, at, prompt: 'A darker one?' });
    await two.run.result;
    expect(said(two.session.messages)).toEqual([
      'user: A colour?',
      'assistant: Red.',
      'user: A darker one?',
      'assistant: Green.',
    ]);
    await expect(branchSession(agentWith(), 's', { ...instead, at })).rejects.toMatchObject({
      code: 'invalid_definition',
    });
    await expect(branchSession(agentWith(), 's', { journal })).rejects.toMatchObject({ code: 'ends_with_assistant' });
  });
});

describe('the sessions of a journal', () => {
  it('are named, tagged, listed by either, and deleted', async () => {
    const journal = memoryJournal();
    const clock = testClock();
    const sessions = sessionsOf(journal, { clock });
    for (const id of ['a', 'b', 'c']) await createSession(agentWith(), { journal, id, clock });
    await sessions.rename('a', 'The first');
    await sessions.tag('a', ['old', 'kept']);
    await sessions.tag('b', ['kept']);
    await sessions.tag('a', [], ['old']);
    expect((await sessions.list({ tag: 'kept' })).sessions).toMatchObject([
      { sessionId: 'b', tags: ['kept'] },
      { sessionId: 'a', title: 'The first', tags: ['kept'] },
    ]);
    await sessions.remove('b');
    expect((await sessions.list()).sessions.map(({ sessionId }) => sessionId)).toEqual(['c', 'a']);
  });

  it('keep titles and tags that mean something, and say what is wrong with others', async () => {
    const journal = memoryJournal();
    const sessions = sessionsOf(journal);
    await createSession(agentWith(), { journal, id: 's' });
    for (const title of ['', ' x', 'two\nlines', 'x'.repeat(201)]) {
      await expect(sessions.rename('s', title)).rejects.toMatchObject({ code: 'invalid_definition' });
    }
    for (const tags of [[''], ['a\u0000b'], ['x'.repeat(65)], Array.from({ length: 33 }, (_, at) => `t${at}`)]) {
      await expect(sessions.tag('s', tags)).rejects.toMatchObject({ code: 'invalid_definition' });
    }
    await expect(sessions.rename('nobody', 'x')).rejects.toMatchObject({ code: 'session_not_found' });
    expect(await logOf(journal, 's')).toHaveLength(1);
  });

  it('can be named and tagged while a run is under way, which notices nothing', async () => {
    const journal = memoryJournal();
    const go = Promise.withResolvers<void>();
    const model = scriptedModel([{ text: 'Well, yes.', waitAfter: { deltas: 1, until: go.promise } }]);
    const session = await createSession(defineAgent({ model }), { journal, id: 's' });
    const run = session.prompt('Yes?');
    await run.id;
    await sessionsOf(journal).rename('s', 'A question');
    go.resolve();
    expect((await run.result).text).toBe('Well, yes.');
    expect((await logOf(journal, 's')).some(({ type }) => type === 'input_rejected')).toBe(false);
  });

  it('are found by title, tag, first prompt, and what was said in them', async () => {
    const journal = memoryJournal();
    const sessions = sessionsOf(journal);
    const make = async (id: string, prompts: readonly string[], answers: readonly string[]): Promise<void> => {
      const session = await createSession(agentWith(...answers), { journal, id });
      for (const prompt of prompts) await session.prompt(prompt).result;
    };
    await make('a', ['About the weather', 'And in Ålesund?'], ['It rains.', 'There too: umbrellas help against it.']);
    await make('b', ['Hello'], ['Hi.']);
    await make('c', ['Sums'], ['Two.']);
    await sessions.rename('b', 'On umbrellas');
    await sessions.tag('c', ['umbrella']);
    const found = async (query: string, options = {}): Promise<string[]> => {
      const hits: string[] = [];
      for await (const { session, where } of sessions.search(query, options))
        hits.push(`${session.sessionId} ${where}`);
      return hits;
    };
    expect(await found('UMBRELLA')).toEqual(['c tag', 'b title', 'a message']);
    expect(await found('umbrella', { messages: false })).toEqual(['c tag', 'b title']);
    expect(await found('weather about')).toEqual(['a prompt']);
    expect(await found('a\u030alesund')).toEqual(['a message']);
    expect(await found('umbrella', { tag: 'umbrella' })).toEqual(['c tag']);
    expect(await found('nothing like it')).toEqual([]);
    expect(await found(' ')).toEqual([]);
    for await (const hit of sessions.search('help')) {
      expect(hit).toMatchObject({ where: 'message', excerpt: 'There too: umbrellas help against it.' });
      expect(await logOf(journal, 'a')).toContainEqual(
        expect.objectContaining({ seq: hit.seq, type: 'message_added' }),
      );
    }
  });
});

describe('going on with the latest session', () => {
  it('takes the one of the agent that was last written to, or begins one', async () => {
    const journal = memoryJournal();
    const clock = testClock();
    const first = await openLatest(agentWith('Hi.'), { journal, clock });
    await createSession(defineAgent({ id: 'other', model: scriptedModel([]) }), { journal, clock });
    expect((await openLatest(agentWith(), { journal, clock })).id).toBe(first.id);
    await clock.advance(1e12);
    expect((await openLatest(agentWith(), { journal, clock })).id).toBe(first.id);
  });

  it('begins another one after inactivity, which knows it and counts its runs anew', async () => {
    const journal = memoryJournal();
    const clock = testClock();
    const options = { journal, clock, rotateAfterMs: 1000 };
    const first = await openLatest(agentWith('Hi.', 'Hi.'), options);
    await first.prompt('Hello').result;
    await clock.advance(1000);
    expect((await openLatest(agentWith(), options)).id).toBe(first.id);
    const lastActiveAt = clock.now() - 1000;
    await clock.advance(1);
    const second = await openLatest(agentWith('Hi.'), options);
    expect(second.id).not.toBe(first.id);
    expect((await second.prompt('Hello').result).runId).toBe(`${second.id}.scripted.scripted.1`);
    expect((await journal.list()).sessions[0]).toMatchObject({
      previous: { sessionId: first.id, lastActiveAt, thresholdMs: 1000 },
    });
    expect(sessionTree(await logOf(journal, second.id)).formation).toEqual({
      kind: 'inactivity',
      at: clock.now(),
      thresholdMs: 1000,
    });
    await expect(openLatest(agentWith(), { journal, rotateAfterMs: Number.NaN })).rejects.toMatchObject({
      code: 'invalid_definition',
    });
  });

  it('stays while a run is open, however long ago that was', async () => {
    const journal = memoryJournal();
    const clock = testClock();
    const options = { journal, clock, rotateAfterMs: 1000 };
    const first = await openLatest(agentWith({ toolCalls: [{ name: 'pay' }] }), options);
    await first.prompt('Pay.').result;
    await clock.advance(1e9);
    expect((await openLatest(agentWith(), options)).id).toBe(first.id);
  });
});
