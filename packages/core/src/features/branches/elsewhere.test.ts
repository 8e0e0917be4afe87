import { countingIds, logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { branchesBy, branchesInput, firstBranch, mostTokens, type BranchesOptions } from '../../entries/branches.ts';
import { createSession, defineAgent, defineTool, memoryJournal, openSession, runBranches } from '../../index.ts';

const answering = (configId: string, text: string) => ({
  agent: defineAgent({
    id: 'worker',
    configId,
    model: scriptedModel(() => ({ text, usage: { input: 1, output: text.length } })),
  }),
});

const main = defineAgent({ id: 'main', configId: 'main', model: scriptedModel([]) });

async function begun() {
  const journal = memoryJournal();
  const session = await createSession(main, { id: 's', journal, ids: countingIds() });
  return { journal, session };
}

describe('branches that are asked for in one process', () => {
  it('run in the one that drives the session, made of what the request says', async () => {
    const { journal } = await begun();
    const tries = (texts: readonly string[]): BranchesOptions => ({
      branches: texts.map((text, index) => answering(`c${index}`, text)),
      strategy: mostTokens(),
      data: { texts },
    });
    const asked = await branchesInput({ ...tries(['One.', 'Number two.']), prompt: 'Count.' });
    await journal.post('s', asked, 'k', 0);
    const branches = branchesBy(({ data }) => tries(data?.['texts'] as readonly string[]));
    const session = await openSession(main, 's', { journal, branches });
    const result = await session.resume().result;
    expect([result.status, result.text]).toEqual(['completed', 'Number two.']);
    const prompts = session.messages.filter(({ role }) => role === 'user');
    expect(prompts).toMatchObject([{ content: [{ text: 'Count.' }] }]);
  });

  it('are refused where nothing chooses among them, before anything is posted', async () => {
    const branches = [answering('a', 'A'), answering('b', 'B')];
    await expect(branchesInput({ branches })).rejects.toMatchObject({ code: 'invalid_definition' });
    await expect(branchesInput({ branches: [] })).rejects.toMatchObject({ code: 'invalid_definition' });
  });

  it('go on elsewhere when the session is given up amid them, each where it was', async () => {
    const { journal, session } = await begun();
    const stopped = Promise.withResolvers<void>();
    const calls: string[] = [];
    const step = defineTool({
      name: 'step',
      description: 'Takes a step.',
      execute: async (_, { sessionId }) => {
        calls.push(sessionId);
        if (calls.length === 2) stopped.resolve();
        return 'done';
      },
    });
    const walking = (configId: string) => ({
      agent: defineAgent({
        id: 'walker',
        configId,
        tools: [step],
        model: scriptedModel(async ({ messages }) => {
          if (messages.at(-1)?.role !== 'tool') return { toolCalls: [{ name: 'step' }] };
          if (!isGivenUp) await givingUp.promise;
          return { text: `${configId} walked` };
        }),
      }),
    });
    let isGivenUp = false;
    const givingUp = Promise.withResolvers<void>();
    const tries: BranchesOptions = { branches: [walking('a'), walking('b')], strategy: firstBranch() };
    const run = runBranches(session, { ...tries, prompt: 'Walk.' });
    run.outcomes.catch(() => {});
    await stopped.promise;
    const left = session.yield();
    isGivenUp = true;
    givingUp.resolve();
    await left;
    await expect(run.result).rejects.toMatchObject({ code: 'session_yielded' });
    expect((await logOf(journal, 's')).map(({ type }) => type)).not.toContain('branches_ended');

    const other = await openSession(main, 's', { journal, branches: branchesBy(() => tries) });
    expect((await other.resume().result).text).toBe('a walked');
    expect(calls.toSorted()).toEqual(['s.main.1.b0', 's.main.1.b1']);
  });

  it('are never due by themselves: their parent drives them', async () => {
    const { journal, session } = await begun();
    const branches = [answering('a', 'A'), answering('b', 'B')];
    await runBranches(session, { branches, prompt: 'Go.', strategy: firstBranch() }).result;
    await journal.post('s.main.1.b0', { type: 'prompt', messages: [] }, 'k', 0);
    await session.close();
    expect(await journal.due({ before: Infinity })).toEqual([]);
  });

  it('ask the model of the agent that each names', async () => {
    const { session } = await begun();
    const routing = {
      models: { small: scriptedModel(() => 'From the small one.'), large: scriptedModel(() => 'From the large one.') },
    };
    const agent = defineAgent({ id: 'worker', model: scriptedModel([]), routing });
    const run = runBranches(session, {
      prompt: 'Who?',
      branches: [
        { agent, model: 'small' },
        { agent, model: 'large', configId: 'large' },
      ],
      strategy: firstBranch(),
    });
    expect((await run.outcomes).map(({ text }) => text)).toEqual(['From the small one.', 'From the large one.']);
    await run.result;
    const unknown = runBranches(session, { prompt: 'Who?', branches: [{ agent, model: 'tiny' }] });
    unknown.outcomes.catch(() => {});
    expect((await unknown.result).message).toContain('The agent has no model "tiny"');
  });
});
