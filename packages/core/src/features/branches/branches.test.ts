import { countingIds, type CrashCourse, crashMatrix, golden, logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import {
  chosenBy,
  cheapestThatPasses,
  fewestTokens,
  onlyBranch,
  firstBranch,
  mostTokens,
  vote,
  type BranchOutcome,
  type BranchStrategy,
  type WorkingCopies,
} from '../../entries/branches.ts';
import { linkSessions, parallelSiblings, sessionTree } from '../../entries/projections.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  promoteBranch,
  runBranches,
  type Agent,
  type JsonObject,
  type Tool,
} from '../../index.ts';

type Script = Parameters<typeof scriptedModel>[0];

const saying = (configId: string, script: Script, tools: readonly Tool[] = []): Agent =>
  defineAgent({ id: 'worker', configId, model: scriptedModel(script, { cost: ({ output }) => output }), tools });

const reply = (text: string) => ({ text, usage: { input: 10, output: text.length } });

const worker = (configId: string, answer: string): Agent => saying(configId, () => reply(answer));

async function sessionOf(agent: Agent) {
  const journal = memoryJournal();
  return { journal, session: await createSession(agent, { id: 's', journal, ids: countingIds() }) };
}

const THREE = [worker('a', 'Four.'), worker('b', 'It is four, I think.'), worker('c', 'four.')];

describe('branches', () => {
  it('run side by side from one point; the winner joins the history, the others stay in their own sessions', async () => {
    const { journal, session } = await sessionOf(worker('a', 'Hello.'));
    await session.prompt('Hi').result;
    const script = golden();
    session.subscribe(script.observe);
    const branches = [worker('a', 'Four.'), worker('b', 'It is four.')].map((agent) => ({ agent }));
    const run = runBranches(session, { branches, prompt: 'Two and two?', strategy: mostTokens() });
    const result = await run.result;
    expect([result.status, result.text]).toEqual(['completed', 'It is four.']);
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        branches_started a, b
        decision_made judge judge {"selectedIndex":1,"strategy":"most_tokens"}
        branches_ended 1 is selected
        message_added user (prompt) "Two and two?"
        message_added assistant (stop) "It is four."
      run_ended completed"
    `);
    expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const [a, b] = await run.outcomes;
    expect([a?.text, b?.text]).toEqual(['Four.', 'It is four.']);
    expect(result.usage.output).toBe((a?.usage.output ?? 0) + (b?.usage.output ?? 0));
    expect(result.cost).toBe((a?.cost ?? 0) + (b?.cost ?? 0));
    const loser = await openSession(worker('a', ''), a?.sessionId ?? '', { journal });
    expect(loser.messages.at(-1)).toMatchObject({ content: [{ text: 'Four.' }] });

    await promoteBranch(session, a?.sessionId ?? '');
    expect(session.messages.at(-1)).toMatchObject({ content: [{ text: 'Four.' }] });
    expect(session.messages).toHaveLength(4);
  });

  it('have every field of a parallel loop and its group in the log', async () => {
    const { journal, session } = await sessionOf(worker('a', 'Hello.'));
    await session.prompt('Hi').result;
    const branches = THREE.slice(0, 2).map((agent) => ({ agent }));
    const result = await runBranches(session, { branches, prompt: 'Two and two?', strategy: fewestTokens() }).result;
    const log = await logOf(journal, 's');
    const started = log.find((event) => event.type === 'branches_started');
    const ended = log.find((event) => event.type === 'branches_ended');
    const runIds = ['s.a.2.b0.a.2', 's.a.2.b1.b.1'];
    expect(started).toMatchObject({
      runId: result.runId,
      at: expect.any(Number) as number,
      branches: runIds.map((runId, index) => ({ runId, sessionId: `s.a.2.b${index}` })),
    });
    expect(ended).toMatchObject({
      at: expect.any(Number) as number,
      selectedSessionId: 's.a.2.b0',
      selectedIndex: 0,
      evaluationUsage: { input: 0, output: 0 },
      evaluationCost: 0,
    });
    const trees = linkSessions(
      await Promise.all(['s', 's.a.2.b0', 's.a.2.b1'].map(async (id) => sessionTree(await logOf(journal, id)))),
    );
    const [parent, first, second] = trees.map((tree) => tree.runs.at(-1));
    expect([first?.runId, second?.runId]).toEqual(runIds);
    expect(first?.parallelGroup).toMatchObject({ selectedIndex: 0, selectedSessionId: 's.a.2.b0', isSelected: true });
    expect(second?.parallelGroup?.isSelected).toBe(false);
    expect(first?.parallelGroup?.branches.map(({ runId }) => runId)).toEqual(runIds);
    expect(parent?.parallelGroup?.evaluationUsage).toEqual(ended?.type === 'branches_ended' && ended.evaluationUsage);
    expect(parallelSiblings(trees, runIds[0] ?? '').map(({ runId }) => runId)).toEqual([runIds[1]]);
    expect(first?.continuation).toEqual({ kind: 'branch', tag: 'a' });
  });

  it('show what they do on the stream of the run that asked for them', async () => {
    const { session } = await sessionOf(worker('a', ''));
    const branches = THREE.slice(0, 2).map((agent) => ({ agent }));
    const run = runBranches(session, { branches, prompt: 'Two and two?', strategy: fewestTokens() });
    const seen: Record<string, string[]> = {};
    for await (const event of run) {
      if (event.type !== 'branch_event') continue;
      expect(event.runId).toBe((await run.result).runId);
      (seen[event.branch.configId] ??= []).push(event.event.type);
    }
    expect(Object.keys(seen)).toEqual(['a', 'b']);
    for (const types of Object.values(seen)) {
      expect(types).toContain('message_delta');
      expect(types.at(-1)).toBe('run_ended');
    }
  });

  it('go on with the history as it is without a prompt', async () => {
    const { session } = await sessionOf(saying('a', [{ error: { kind: 'api', message: 'broken', retryable: false } }]));
    await session.prompt('Two and two?').result;
    const result = await runBranches(session, { branches: THREE.map((agent) => ({ agent })), strategy: firstBranch() })
      .result;
    expect(result.text).toBe('Four.');
    expect(session.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('are told of as each finishes, with events tagged by their run; one that fails does not fail the rest', async () => {
    const { session } = await sessionOf(worker('a', ''));
    const slow = Promise.withResolvers<ReturnType<typeof reply>>();
    const broken = saying('broken', [{ error: { kind: 'auth', message: 'no key', retryable: false } }]);
    const finished: string[] = [];
    const runs = new Set<string>();
    const run = runBranches(session, {
      branches: [{ agent: saying('slow', () => slow.promise) }, { agent: broken }, { agent: worker('quick', 'Done.') }],
      prompt: 'Go.',
      strategy: fewestTokens(),
      onEvent: (event, { configId }) => event.type === 'run_started' && runs.add(`${configId} ${event.runId}`),
      onOutcome({ configId, status }) {
        finished.push(`${configId} ${status}`);
        if (finished.length === 2) slow.resolve(reply('Done, but it took a while.'));
      },
    });
    expect((await run.result).text).toBe('Done.');
    expect(finished.toSorted().slice(0, 3)).toEqual(['broken model_error', 'quick completed', 'slow completed']);
    expect(finished[2]).toBe('slow completed');
    expect([...runs].toSorted()).toEqual([
      'broken s.a.1.b1.broken.1',
      'quick s.a.1.b2.quick.1',
      'slow s.a.1.b0.slow.1',
    ]);
  });

  it('fail only when all of them do', async () => {
    const { session } = await sessionOf(worker('a', 'Never mind.'));
    const broken = (message: string) => ({
      agent: saying(message, [{ error: { kind: 'auth', message, retryable: false } }]),
    });
    const result = await runBranches(session, { branches: [broken('x'), broken('y')], prompt: 'Go.', strategy: vote() })
      .result;
    expect(result.status).toBe('model_error');
    expect(result.message).toContain('All 2 branches failed.');
    expect(session.messages).toEqual([]);
    expect((await session.prompt('And now?').result).text).toBe('Never mind.');
  });

  it('R2: all end with their parent, and nothing is selected', async () => {
    const { journal, session } = await sessionOf(worker('a', ''));
    const aborted: string[] = [];
    const hang = defineTool({
      name: 'hang',
      description: 'Hangs.',
      execute: (_, { signal, sessionId }) =>
        new Promise<string>((resolve) =>
          signal.addEventListener('abort', () => {
            aborted.push(sessionId);
            resolve('');
          }),
        ),
    });
    const hanging = (configId: string) => ({ agent: saying(configId, [{ toolCalls: [{ name: 'hang' }] }], [hang]) });
    const begun = Promise.withResolvers<void>();
    let count = 0;
    const run = runBranches(session, {
      branches: [hanging('x'), hanging('y')],
      prompt: 'Go.',
      strategy: firstBranch(),
      onEvent: (event) => event.type === 'tool_started' && ++count === 2 && begun.resolve(),
    });
    await begun.promise;
    await run.abort();
    expect((await run.result).status).toBe('aborted');
    expect(aborted.toSorted()).toEqual(['s.a.1.b0', 's.a.1.b1']);
    for (const id of ['s.a.1.b0', 's.a.1.b1']) {
      expect((await logOf(journal, id)).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
    }
    await expect(run.outcomes).rejects.toMatchObject({ code: 'not_selected' });
  });
});

describe('a strategy', () => {
  const select = async (strategy: BranchStrategy): Promise<string> => {
    const { session } = await sessionOf(worker('a', ''));
    const run = runBranches(session, { branches: THREE.map((agent) => ({ agent })), prompt: 'Two and two?', strategy });
    const { text, status, message } = await run.result;
    return status === 'completed' ? text : `${status}: ${message}`;
  };

  it.each<[BranchStrategy, string]>([
    [firstBranch(), 'Four.'],
    [fewestTokens(), 'Four.'],
    [mostTokens(), 'It is four, I think.'],
    [vote(), 'Four.'],
    [vote(({ text }) => (text.startsWith('F') ? 'one of its kind' : 'alike')), 'It is four, I think.'],
    [cheapestThatPasses(({ text }) => text.includes('think')), 'It is four, I think.'],
    [cheapestThatPasses(() => true), 'Four.'],
    [chosenBy((outcomes) => outcomes.length - 1), 'four.'],
  ])('%o selects', async (strategy, answer) => {
    expect(await select(strategy)).toBe(answer);
  });

  it('that finds none, or chooses one that is not there, or throws, ends the run', async () => {
    expect(await select(cheapestThatPasses(() => false))).toContain('None of the 3 branches passes');
    expect(await select(chosenBy(() => 7))).toContain("didn't complete");
    expect(await select(chosenBy(() => Promise.reject(new Error('no idea'))))).toContain('no idea');
  });

  it('has to be named for more than one branch, before any of them runs', async () => {
    const { session } = await sessionOf(worker('a', ''));
    const branches = THREE.map((agent) => ({ agent }));
    for (const more of [{}, { strategy: onlyBranch() }])
      expect(() => runBranches(session, { branches, prompt: 'Go.', ...more })).toThrow(
        expect.objectContaining({ code: 'invalid_definition', message: expect.stringContaining('strategy: first') }),
      );
    expect(session.status).toBe('idle');
    const [only] = branches;
    const alone = runBranches(session, { branches: only ? [only] : [], prompt: 'Go.' });
    expect((await alone.result).text).toBe('Four.');
  });
});

describe('after a crash', () => {
  it('S1, S2: the parent finds its branches, and what was chosen is not chosen again', async () => {
    const asked: number[] = [];
    let deaths = 0;
    const course = (): CrashCourse => {
      const journal = memoryJournal();
      const merged: string[] = [];
      asked.length = 0;
      deaths = 0;
      const copies: WorkingCopies = {
        open: (key) => Promise.resolve({ folder: `/copies/${key}` }),
        merge: (key) => Promise.resolve(void merged.push(key)),
        remove: () => Promise.resolve(),
      };
      return {
        sessionId: 's',
        open: () => Promise.resolve(journal),
        async live(life) {
          deaths = life.number - 1;
          const options = { journal: life.journal, clock: life.clock, ids: life.ids, onObserverError: () => {} };
          const agent = worker('a', '');
          const { sessions } = await journal.list();
          const exists = sessions.some(({ sessionId }) => sessionId === 's');
          const session = exists
            ? await openSession(agent, 's', options)
            : await createSession(agent, { ...options, id: 's' });
          if (session.messages.length > 0) return;
          const strategy = chosenBy((outcomes: readonly BranchOutcome[]) =>
            life.effect('the judge', () => {
              asked.push(life.number);
              return outcomes[1]?.index ?? 0;
            }),
          );
          const branches = THREE.slice(0, 2).map((each) => ({ agent: each }));
          await runBranches(session, { branches, prompt: 'Two and two?', strategy, copies }).result;
        },
        outcome(log) {
          const decided = log.filter((event) => event.type === 'decision_made' && event.kind === 'judge');
          expect(decided).toHaveLength(1);
          expect(asked.length).toBeLessThanOrEqual(deaths + 1);
          expect(new Set(merged)).toEqual(new Set(['s.a.1.b1']));
          const said = log.flatMap((event) =>
            event.type === 'message_added' && event.message.role === 'assistant' ? event.message.content : [],
          );
          const ends = log.flatMap((event) => (event.type === 'run_ended' ? [event.status] : []));
          return JSON.parse(JSON.stringify({ said, ends })) as JsonObject;
        },
      };
    };
    const { moments } = await crashMatrix(course);
    for (const moment of ['after branches_started', 'after the judge', 'before decision_made, branches_ended'])
      expect(moments.join('\n')).toContain(moment.split(' ').slice(1).join(' '));
  });

  it('goes on only with the same branches', async () => {
    const { journal, session } = await sessionOf(worker('a', ''));
    await journal.post(
      's',
      { type: 'branch', messages: [], branches: [{ configId: 'a', configSegment: 'a' }], strategy: 'x' },
      'k',
      0,
    );
    await session.refresh();
    await expect(session.resume().result).rejects.toThrow('runBranches');
    const branches = THREE.map((agent) => ({ agent }));
    await expect(runBranches(session, { branches, strategy: vote() }).result).rejects.toThrow('1 branches, not 3');
  });
});
