import { journalOf, logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it, vi } from 'vitest';

import type { SessionInput } from '../../entries/events.ts';
import { replaySession } from '../../entries/history.ts';
import { costTable, sessionTitle, sessionTree, transcript } from '../../entries/projections.ts';
import {
  asTool,
  createSession,
  defineAgent,
  memoryJournal,
  memoryLedger,
  openSession,
  runBranches,
  sessionsOf,
  type AgentDefinition,
  type CreateSessionOptions,
  type Journal,
  type Model,
  type TreadleEvent,
} from '../../index.ts';

const QUESTION = 'Why is the sky blue, and why is it red in the evening, of all times?';
const FALLBACK = 'Why is the sky blue, and why is it red in the e...';

/** A model for titles that answers from a script. */
const namer = (script: readonly (string | Turn)[], cost: number | null = 0.01) =>
  scriptedModel([...script], { provider: 'small', id: 'namer', cost: ({ output }) => (output === null ? null : cost) });

/** One that begins and says nothing. */
function silent(cost = 0.01) {
  const asked = Promise.withResolvers<void>();
  const model: Model = {
    ...namer([], cost),
    async *stream() {
      yield { type: 'start' };
      asked.resolve();
      await new Promise(() => {});
    },
  };
  return { model, asked: asked.promise };
}

async function begin(over: Partial<AgentDefinition> = {}, options: CreateSessionOptions = {}) {
  const journal = options.journal ?? memoryJournal();
  const agent = defineAgent({ model: scriptedModel(['Rayleigh.', 'Two.', 'Three.']), ...over });
  const session = await createSession(agent, { id: 's', ...options, journal });
  const warnings: string[] = [];
  session.subscribe((event) => event.type === 'warning' && warnings.push(`${event.code}: ${event.message}`));
  return { journal, agent, session, warnings };
}

const renames = async (journal: Journal, id = 's') =>
  (await logOf(journal, id)).flatMap((event) =>
    event.type === 'input_received' && event.input.type === 'rename' ? [event.input] : [],
  );

describe('the title of a session', () => {
  it('is written by a model, once, after the first run that completes', async () => {
    const model = namer(['{"title": "The colours of the sky"}']);
    const { journal, session } = await begin({ title: { model } });
    expect(session.title).toBeNull();
    expect((await session.prompt(QUESTION).result).status).toBe('completed');
    await session.settled();
    expect(session.title).toBe('The colours of the sky');
    await session.prompt('And at night?').result;
    await session.settled();
    expect(model.requests).toHaveLength(1);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('Why is the sky blue');
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('Rayleigh.');
    expect(await renames(journal)).toEqual([
      {
        type: 'rename',
        title: 'The colours of the sky',
        by: 'model',
        provider: 'small',
        model: 'namer',
        usage: expect.objectContaining({ output: expect.any(Number) as number }) as object,
        cost: 0.01,
      },
    ]);
  });

  it('is asked of nobody unless the agent says so', async () => {
    const model = scriptedModel(['Rayleigh.']);
    const { journal, session } = await begin({ model });
    await session.prompt(QUESTION).result;
    await session.settled();
    expect(model.requests).toHaveLength(1);
    expect(await renames(journal)).toEqual([]);
    expect(session.title).toBeNull();
  });

  it('is the agent’s own model’s where no other is named', async () => {
    const { session } = await begin({ model: scriptedModel(['Rayleigh.', 'Sure: {"title":"Sky"}.']), title: true });
    await session.prompt(QUESTION).result;
    await session.settled();
    expect(session.title).toBe('Sky');
  });

  it('keeps no run waiting: the result is there, and the next run begins, while the model thinks', async () => {
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const inner = namer(['{"title": "Sky"}']);
    const model: Model = {
      ...inner,
      async *stream(request, signal) {
        asked.resolve();
        await go.promise;
        yield* inner.stream(request, signal);
      },
    };
    const { session } = await begin({ title: { model } });
    await session.prompt(QUESTION).result;
    await asked.promise;
    expect((await session.prompt('Next?').result).text).toBe('Two.');
    expect(session.title).toBeNull();
    go.resolve();
    await session.settled();
    expect(session.title).toBe('Sky');
  });

  it('comes after a run that completed, not after one that failed', async () => {
    const model = namer(['{"title": "Sky"}']);
    const error = { kind: 'api', message: 'Broken.', retryable: false } as const;
    const { session } = await begin({ model: scriptedModel([{ error }, 'Rayleigh.']), title: { model } });
    await session.prompt(QUESTION).result;
    await session.settled();
    expect(model.requests).toHaveLength(0);
    await session.continue().result;
    await session.settled();
    expect(session.title).toBe('Sky');
  });

  it('that somebody gave is never replaced, before, meanwhile or after', async () => {
    const model = namer(['{"title": "Sky"}', '{"title": "Sky"}']);
    const given = await begin({ title: { model } }, { title: 'Mine' });
    await given.session.prompt(QUESTION).result;
    await given.session.settled();
    expect([given.session.title, model.requests.length]).toEqual(['Mine', 0]);

    const journal = memoryJournal();
    const meanwhile = {
      ...model,
      async *stream(...args: Parameters<Model['stream']>) {
        await sessionsOf(journal).rename('s', 'Mine too');
        yield* model.stream(...args);
      },
    };
    const { session } = await begin({ title: { model: meanwhile } }, { journal });
    await session.prompt(QUESTION).result;
    await session.settled();
    expect(session.title).toBe('Mine too');
    await sessionsOf(journal).rename('s', 'Better');
    const log = await logOf(journal, 's');
    const { sessions } = await sessionsOf(journal).list();
    expect([sessions[0]?.title, sessionTitle(log), transcript(log).title]).toEqual(['Better', 'Better', 'Better']);
  });

  it.each<[string, (string | Turn)[], string]>([
    ['a failure', [{ error: { kind: 'auth', message: 'No key.', retryable: false } }], 'No key.'],
    ['an answer that is no title', ['I can’t do that.'], 'The model replied without a title.'],
    ['a title that is empty', ['{"title": " "}'], 'The model replied without a title.'],
  ])('after %s it is made of the prompt, and nobody is asked again', async (_, script, problem) => {
    const model = namer(script);
    const { journal, session, agent, warnings } = await begin({ title: { model, maxRetries: 0 } });
    await session.prompt(QUESTION).result;
    await session.settled();
    expect(session.title).toBe(FALLBACK);
    expect(warnings).toEqual([`title_failed: The session's title is made of its prompt: ${problem}`]);
    expect(await renames(journal)).toMatchObject([{ by: 'fallback', title: FALLBACK, problem }]);
    const again = await openSession(agent, 's', { journal });
    await again.prompt('Next?').result;
    await again.settled();
    expect(model.requests).toHaveLength(1);
  });

  it('survives a failure that passes', async () => {
    const clock = testClock();
    const busy = { error: { kind: 'api', message: 'Busy.', retryable: true } } as const;
    const model = namer([busy, '{"title": "Sky"}']);
    const { session } = await begin({ title: { model } }, { clock });
    await session.prompt(QUESTION).result;
    await vi.waitFor(
      async () => {
        await clock.advance(1000);
        expect(session.title).toBe('Sky');
      },
      { timeout: 15_000 },
    );
    expect(model.requests).toHaveLength(2);
  });

  it('is not waited for longer than its time, and closing the session ends it too', async () => {
    const clock = testClock();
    const slow = silent();
    const { session, journal } = await begin({ title: { model: slow.model, timeoutMs: 5000 } }, { clock });
    await session.prompt(QUESTION).result;
    await vi.waitFor(
      async () => {
        await clock.advance(5000);
        expect(session.title).toBe(FALLBACK);
      },
      { timeout: 15_000 },
    );
    expect(await renames(journal)).toMatchObject([{ problem: 'No title came within 5000 ms.', cost: null }]);

    const late = silent();
    const other = await begin({ title: { model: late.model } }, { clock, id: 'other' });
    await other.session.prompt(QUESTION).result;
    await late.asked;
    await other.session.close();
    expect(await renames(other.journal, 'other')).toMatchObject([
      { by: 'fallback', problem: 'The session was closed before its title came.' },
    ]);
  });

  it('is asked for by one process: it has the session until then', async () => {
    const model = namer(['{"title": "One"}', '{"title": "Two"}']);
    const journal = memoryJournal();
    const { agent, session } = await begin({ title: { model } }, { journal });
    const other = await openSession(agent, 's', { journal });
    await session.prompt(QUESTION).result;
    await expect(other.prompt('And?').result).rejects.toMatchObject({ code: 'session_busy' });
    await session.settled();
    await other.prompt('And?').result;
    await other.settled();
    expect(await renames(journal)).toHaveLength(1);
    expect(await journal.due({ before: Infinity })).toEqual([]);
  });

  it('is asked for by the next process, where the one before has died', async () => {
    const died = memoryJournal();
    const { session } = await begin({ title: { model: silent().model } }, { journal: died });
    await session.prompt(QUESTION).result;
    const journal = await journalOf(await logOf(died, 's'));
    expect(await journal.due({ before: Infinity })).toMatchObject([{ sessionId: 's' }]);
    const { agent } = await begin({ title: { model: namer(['{"title": "One"}']) } }, { id: 'another' });
    const next = await openSession(agent, 's', { journal });
    await next.tidyUp();
    await next.settled();
    expect(next.title).toBe('One');
    expect(await journal.due({ before: Infinity })).toEqual([]);
  });

  it('is made of the answer where the prompt has no text, and shows no model what a filter refused', async () => {
    const image = { type: 'image', mediaType: 'image/png', url: 'https://example.org/a.png' } as const;
    const model = namer(['no', 'no']);
    const { session } = await begin({ title: { model } });
    await session.prompt([image]).result;
    await session.settled();
    expect(session.title).toBe('Rayleigh.');

    const filter = (text: string) =>
      text.includes('secret') ? ({ verdict: 'reject', reason: 'No.' } as const) : ({ verdict: 'pass' } as const);
    const other = await begin({ title: { model: namer(['no']) }, inputGuardrails: [filter] }, { id: 'other' });
    await other.session.prompt('My secret.').result;
    await other.session.prompt('Hello there.').result;
    await other.session.settled();
    expect(other.session.title).toBe('Hello there.');
  });

  it('is in no list for sub-agents and branches, and in none of a replay', async () => {
    const model = namer(['{"title": "Sky"}', '{"title": "Sky"}', '{"title": "Sky"}']);
    const journal = memoryJournal();
    const helper = defineAgent({ id: 'helper', model: scriptedModel(['Done.']), title: { model } });
    const parent = scriptedModel([{ toolCalls: [{ name: 'helper', arguments: { prompt: 'Help.' } }] }, 'Helped.']);
    const tools = [asTool(helper, { name: 'helper', description: 'Helps.' })];
    const { session, agent } = await begin({ model: parent, tools, title: { model } }, { journal });
    await session.prompt(QUESTION).result;
    await session.settled();
    await replaySession(agent, 's', { journal, model: 'recorded', keep: true });
    const branching = await createSession(helper, { id: 'b', journal });
    await runBranches(branching, { branches: [{ agent: helper }], prompt: 'Which?' }).result.catch(() => null);
    await branching.settled();
    const { sessions } = await journal.list();
    expect(sessions.length).toBeGreaterThanOrEqual(4);
    const named = sessions.filter(({ title }) => title !== undefined).map(({ sessionId }) => sessionId);
    expect(named.filter((id) => id !== 'b')).toEqual(['s']);
  });
});

describe('what a title costs', () => {
  it('is in the log, in the table of costs, and in nobody’s run', async () => {
    const { journal, session } = await begin({
      model: scriptedModel(['Rayleigh.'], { cost: () => 1 }),
      title: { model: namer(['{"title": "Sky"}'], 0.25) },
    });
    const { cost } = await session.prompt(QUESTION).result;
    await session.settled();
    const log = await logOf(journal, 's');
    const { models, runs, total } = costTable(log);
    expect(cost).toBe(1);
    expect(models.map((row) => [row.model, row.calls, row.cost])).toEqual([
      ['scripted', 1, 1],
      ['namer', 1, 0.25],
    ]);
    expect(runs.map((row) => [row.runId, row.cost])).toEqual([
      ['s.scripted.scripted.1', 1],
      [null, 0.25],
    ]);
    expect(total.cost).toBe(1.25);
    expect(sessionTree(log).runs.map((run) => run.cost)).toEqual([1]);
  });

  it('is set aside before the call and settled after it', async () => {
    const ledger = memoryLedger(10);
    const model = namer(['{"title": "Sky"}'], 0.25);
    const balances: number[] = [];
    const watched: Model = {
      ...model,
      async *stream(...args) {
        balances.push((await ledger.balance()).reserved);
        yield* model.stream(...args);
      },
    };
    const own = scriptedModel(['Rayleigh.'], { cost: () => 1 });
    const { session } = await begin({ model: own, title: { model: watched }, budget: { ledger } });
    await session.prompt(QUESTION).result;
    await session.settled();
    expect(balances).toEqual([0.5]);
    expect(await ledger.balance()).toMatchObject({ spent: 1.25, reserved: 0 });
  });

  it('is not spent where there is no money for it, or nobody knows the price', async () => {
    for (const cost of [100, null]) {
      const ledger = memoryLedger(10);
      const model = namer(['{"title": "Sky"}'], cost);
      const own = scriptedModel(['Rayleigh.'], { cost: () => 1 });
      const { journal, session } = await begin({ model: own, title: { model }, budget: { ledger } });
      await session.prompt(QUESTION).result;
      await session.settled();
      expect(model.requests).toHaveLength(0);
      expect(session.title).toBe(FALLBACK);
      expect(await renames(journal)).toMatchObject([{ by: 'fallback' }]);
      expect(await ledger.balance()).toMatchObject({ spent: 1, reserved: 0 });
    }
  });

  it('is what was set aside when the call is broken off', async () => {
    const clock = testClock();
    const ledger = memoryLedger(10);
    const slow = silent(0.25);
    const own = scriptedModel(['Rayleigh.'], { cost: () => 1 });
    const { session } = await begin({ model: own, title: { model: slow.model }, budget: { ledger } }, { clock });
    await session.prompt(QUESTION).result;
    await slow.asked;
    await session.close();
    expect(await ledger.balance()).toMatchObject({ spent: 1.5, reserved: 0 });
  });
});

describe('a title in the journal', () => {
  it('that can’t be written disturbs nobody, and is tried again by the next process', async () => {
    const inner = memoryJournal();
    let broken = true;
    const journal: Journal = {
      ...inner,
      post: (sessionId: string, input: SessionInput, key: string, at: number) =>
        broken && input.type === 'rename' ? Promise.reject(new Error('Full.')) : inner.post(sessionId, input, key, at),
    };
    const model = namer(['{"title": "One"}', '{"title": "Two"}']);
    const { session, agent, warnings } = await begin({ title: { model } }, { journal });
    expect((await session.prompt(QUESTION).result).status).toBe('completed');
    await session.settled();
    expect(warnings).toEqual(['title_failed: The session could not be given a title: Full.']);
    broken = false;
    const again = await openSession(agent, 's', { journal });
    await again.prompt('Next?').result;
    await again.settled();
    expect(again.title).toBe('Two');
  });

  it('is read from the log by whoever opens the session, and is the log’s own in a fork', async () => {
    const { journal, session, agent } = await begin({ title: { model: namer(['{"title": "Sky"}']) } });
    const events: TreadleEvent[] = [];
    await session.prompt(QUESTION).result;
    await session.settled();
    for await (const event of journal.read('s', 1)) events.push(event);
    const copy = await journalOf(await logOf(journal, 's'));
    expect((await openSession(agent, 's', { journal: copy })).title).toBe('Sky');
    const fork = await sessionsOf(journal).fork('s');
    expect((await openSession(agent, fork, { journal })).title).toBeNull();
  });

  it('is refused settings that make no sense', () => {
    const model = scriptedModel([]);
    expect(() => defineAgent({ model, title: { timeoutMs: 0 } })).toThrow('title.timeoutMs');
    expect(() => defineAgent({ model, title: { maxRetries: 0.5 } })).toThrow('title.maxRetries');
    expect(() => defineAgent({ model, title: { model: {} as Model } })).toThrow('title.model');
  });
});
