import { countingIds, golden, logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { llmJudge, onlyBranch, type BranchesOptions } from '../../entries/branches.ts';
import { linkSessions, sessionTree } from '../../entries/projections.ts';
import { createSession, defineAgent, memoryJournal, runBranches, type Agent } from '../../index.ts';

type Script = Parameters<typeof scriptedModel>[0];

const agent = (configId: string, script: Script): { readonly agent: Agent } => ({
  agent: defineAgent({ id: 'worker', configId, model: scriptedModel(script) }),
});

const failing = (configId: string, message: string) =>
  agent(configId, [{ error: { kind: 'auth', message, retryable: false } }]);

/** The transcript of the session, and below it those of its branches, in their order: they run at the same time. */
async function transcriptsOf(options: Omit<BranchesOptions, 'onEvent'>, first: Script = []) {
  const journal = memoryJournal();
  const main = defineAgent({ id: 'main', configId: 'main', model: scriptedModel(first) });
  const session = await createSession(main, { id: 's', journal, ids: countingIds() });
  if (first.length > 0) await session.prompt('Two and two?').result;
  const own = golden();
  session.subscribe(own.observe);
  const scripts = options.branches.map(() => golden());
  const observers = options.branches.map((_, index) => scripts[index]?.observeAs(`branch ${index}`));
  const run = runBranches(session, {
    ...options,
    onEvent: (event, { sessionId }) => observers[Number(sessionId.at(-1))]?.(event),
  });
  run.outcomes.catch(() => {});
  const result = await run.result;
  const text = [own, ...scripts].map((script) => script.text()).join('\n');
  return { journal, session, result, text };
}

describe('branches', () => {
  it('one alone is taken as it is: nobody is asked', async () => {
    const { text } = await transcriptsOf({
      branches: [agent('a', ['Four.'])],
      prompt: 'Two and two?',
      strategy: onlyBranch(),
    });
    expect(text).toMatchInlineSnapshot(`
      "run_started
        branches_started a
        decision_made judge judge {"selectedIndex":0,"strategy":"only"}
        branches_ended 0 is selected
        message_added user (prompt) "Two and two?"
        message_added assistant (stop) "Four."
      run_ended completed
      branch 0| run_started
      branch 0|   turn_started 0 by branch
      branch 0|     message_added user (prompt) "Two and two?"
      branch 0|     message_added assistant (stop) "Four."
      branch 0|   turn_ended
      branch 0| run_ended completed"
    `);
  });

  it('are judged by a model, which sees what each came to; without a prompt they go on with the history', async () => {
    const judge = scriptedModel(['The second is right.\nBEST: 2']);
    const broken: Script = [{ error: { kind: 'api', message: 'broken', retryable: false } }];
    const { text, result } = await transcriptsOf(
      { branches: [agent('a', ['Three.']), agent('b', ['Four.'])], strategy: llmJudge({ model: judge }) },
      broken,
    );
    expect(text).toMatchInlineSnapshot(`
      "run_started
        branches_started a, b
        decision_made judge judge {"selectedIndex":1,"strategy":"llm_judge","reason":"The second is right.\\nBEST: 2"}
        branches_ended 1 is selected
        message_added assistant (stop) "Four."
      run_ended completed
      branch 0| run_started
      branch 0|   turn_started 0 by branch
      branch 0|     message_added assistant (stop) "Three."
      branch 0|   turn_ended
      branch 0| run_ended completed
      branch 1| run_started
      branch 1|   turn_started 0 by branch
      branch 1|     message_added assistant (stop) "Four."
      branch 1|   turn_ended
      branch 1| run_ended completed"
    `);
    expect(result.text).toBe('Four.');
    expect(judge.requests).toHaveLength(1);
  });

  it('are judged without those that failed', async () => {
    const { text } = await transcriptsOf({
      branches: [failing('a', 'No key.'), agent('b', ['Four.']), agent('c', ['Five.'])],
      prompt: 'Two and two?',
      strategy: llmJudge({ model: scriptedModel(['BEST: 1']) }),
    });
    expect(text).toMatchInlineSnapshot(`
      "run_started
        branches_started a, b, c
        decision_made judge judge {"selectedIndex":1,"strategy":"llm_judge","reason":"BEST: 1"}
        branches_ended 1 is selected
        message_added user (prompt) "Two and two?"
        message_added assistant (stop) "Four."
      run_ended completed
      branch 0| run_started
      branch 0|   turn_started 0 by branch
      branch 0|     message_added user (prompt) "Two and two?"
      branch 0|     attempt_failed auth
      branch 0|   turn_ended
      branch 0| run_ended model_error "No key."
      branch 1| run_started
      branch 1|   turn_started 0 by branch
      branch 1|     message_added user (prompt) "Two and two?"
      branch 1|     message_added assistant (stop) "Four."
      branch 1|   turn_ended
      branch 1| run_ended completed
      branch 2| run_started
      branch 2|   turn_started 0 by branch
      branch 2|     message_added user (prompt) "Two and two?"
      branch 2|     message_added assistant (stop) "Five."
      branch 2|   turn_ended
      branch 2| run_ended completed"
    `);
  });

  it('that all fail are an error, and nobody is asked', async () => {
    const judge = scriptedModel([]);
    const { text } = await transcriptsOf({
      branches: [failing('a', 'No key.'), failing('b', 'No credit.')],
      prompt: 'Two and two?',
      strategy: llmJudge({ model: judge }),
    });
    expect(text).toMatchInlineSnapshot(`
      "run_started
        branches_started a, b
      run_ended model_error "All 2 branches failed. a: No key. b: No credit."
      branch 0| run_started
      branch 0|   turn_started 0 by branch
      branch 0|     message_added user (prompt) "Two and two?"
      branch 0|     attempt_failed auth
      branch 0|   turn_ended
      branch 0| run_ended model_error "No key."
      branch 1| run_started
      branch 1|   turn_started 0 by branch
      branch 1|     message_added user (prompt) "Two and two?"
      branch 1|     attempt_failed auth
      branch 1|   turn_ended
      branch 1| run_ended model_error "No credit.""
    `);
    expect(judge.requests).toEqual([]);
  });
});

describe('the events of branches', () => {
  it('have every field of their beginning, of their end and of their group, by the ids of their runs', async () => {
    const judge = scriptedModel([{ text: 'BEST: 2', usage: { input: 50, output: 7 } }]);
    const { journal, result } = await transcriptsOf({
      branches: [agent('a', ['Three.']), agent('b', ['Four.'])],
      prompt: 'Two and two?',
      strategy: llmJudge({ model: judge }),
    });
    const log = await logOf(journal, 's');
    const started = log.flatMap((event) => (event.type === 'branches_started' ? [event] : []));
    const ended = log.flatMap((event) => (event.type === 'branches_ended' ? [event] : []));
    const runIds = started.flatMap(({ branches }) => branches.map(({ runId }) => runId));
    expect(runIds).toEqual(['s.main.1.b0.a.1', 's.main.1.b1.b.1']);
    expect(ended.map(({ selectedIndex }) => [selectedIndex, runIds[selectedIndex]])).toEqual([[1, 's.main.1.b1.b.1']]);
    const evaluationUsage = { input: 50, output: 7, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    expect(ended.map((event) => event.evaluationUsage)).toEqual([evaluationUsage]);
    expect([...started, ...ended].map(({ runId, at }) => [runId, typeof at])).toEqual([
      [result.runId, 'number'],
      [result.runId, 'number'],
    ]);
    const ids = ['s', 's.main.1.b0', 's.main.1.b1'];
    const trees = linkSessions(await Promise.all(ids.map(async (id) => sessionTree(await logOf(journal, id)))));
    const groups = trees.flatMap(({ runs }) =>
      runs.map(({ runId, parallelGroup }) => ({ runId, group: parallelGroup })),
    );
    const group = {
      branches: started[0]?.branches,
      selectedIndex: 1,
      selectedSessionId: 's.main.1.b1',
      evaluationUsage,
    };
    expect(groups).toEqual([
      { runId: result.runId, group: { ...group, isSelected: false } },
      { runId: runIds[0], group: { ...group, isSelected: false } },
      { runId: runIds[1], group: { ...group, isSelected: true } },
    ]);
  });
});
