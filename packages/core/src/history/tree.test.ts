import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { firstBranch } from '../entries/branches.ts';
import {
  branchSession,
  childMembers,
  familySpending,
  findMember,
  readFamily,
  rerunSession,
  siblingMembers,
} from '../entries/history.ts';
import { childRuns, findRun, rootRuns, totalUsage } from '../entries/projections.ts';
import {
  asTool,
  createSession,
  defineAgent,
  memoryJournal,
  openSession,
  runBranches,
  sessionsOf,
  systemClock,
  type Clock,
  type Journal,
} from '../index.ts';

const usage = { input: 10, output: 1 };
const says = (text: string) => ({ text, usage });
/** A dollar for each call. */
const priced = (...texts: string[]) => scriptedModel(texts.map(says), { cost: () => 1 });

/** Each look at the clock is a millisecond later, so that what comes later is later. */
function ticking(): Clock {
  let now = 1_750_000_000_000;
  return { ...systemClock, now: () => (now += 1) };
}

/** A session of two runs; a rerun of the first, another path from there with a fork of its own; and a stranger. */
async function relatives() {
  const [journal, clock] = [memoryJournal(), ticking()];
  const agent = defineAgent({
    model: priced('One.', 'Two.', 'One again.', 'Elsewhere.', 'Further.', 'Nothing to do with it.'),
  });
  const session = await createSession(agent, { journal, clock, id: 'root', title: 'The first' });
  await session.prompt('First?').result;
  await session.prompt('Second?').result;
  const rerun = await rerunSession(agent, 'root', {
    journal,
    clock,
    runId: 'root.scripted.scripted.1',
    fork: { id: 'rerun' },
  });
  await rerun.run.result;
  const branch = await branchSession(agent, 'root', {
    journal,
    clock,
    instead: 'root.scripted.scripted.2',
    prompt: 'Otherwise?',
    fork: { id: 'branch' },
  });
  await branch.run.result;
  const sessions = sessionsOf(journal, { clock });
  await sessions.fork('branch', { id: 'leaf' });
  await (await openSession(agent, 'leaf', { journal, clock })).prompt('And then?').result;
  const stranger = await createSession(agent, { journal, clock, id: 'stranger' });
  await stranger.prompt('Hello?').result;
  return { journal, agent, sessions };
}

describe('a family of sessions', () => {
  it('is the same whichever of its members is named: parents before their forks, and no strangers', async () => {
    const { journal } = await relatives();
    const families = await Promise.all(['root', 'rerun', 'branch', 'leaf'].map((id) => readFamily(journal, id)));
    const [family] = families;
    expect(family?.members.map(({ sessionId, tie }) => [sessionId, tie.kind])).toEqual([
      ['root', 'root'],
      ['rerun', 'fork'],
      ['branch', 'fork'],
      ['leaf', 'fork'],
    ]);
    for (const other of families) expect(other).toEqual(family);
    expect((await readFamily(journal, 'stranger')).members).toHaveLength(1);
    await expect(readFamily(journal, 'nobody')).rejects.toMatchObject({ code: 'session_not_found' });
  });

  it('tells parents, children and siblings', async () => {
    const { journal } = await relatives();
    const family = await readFamily(journal, 'leaf');
    const ids = (members: readonly { readonly sessionId: string }[]) => members.map(({ sessionId }) => sessionId);
    expect(ids(childMembers(family, 'root'))).toEqual(['rerun', 'branch']);
    expect(ids(childMembers(family, 'branch'))).toEqual(['leaf']);
    expect(ids(siblingMembers(family, 'rerun'))).toEqual(['branch']);
    expect(siblingMembers(family, 'root')).toEqual([]);
    expect(findMember(family, 'root')?.title).toBe('The first');
    expect(findMember(family, 'leaf')?.tie).toMatchObject({ kind: 'fork', sessionId: 'branch' });
    expect(findMember(family, 'nobody')).toBeUndefined();
  });

  it('has each run once, under what it continues, across sessions', async () => {
    const { journal } = await relatives();
    const family = await readFamily(journal, 'root');
    expect(family.runs.map(({ runId, continuation }) => [runId, continuation?.kind])).toEqual([
      ['root.scripted.scripted.1', 'initial'],
      ['root.scripted.scripted.2', 'initial'],
      ['rerun.scripted.scripted.1', 'rerun'],
      ['branch.scripted.scripted.2', 'branch'],
      ['leaf.scripted.scripted.3', 'initial'],
    ]);
    const again = childRuns(family, 'root.scripted.scripted.1').map(({ runId }) => runId);
    expect(again).toContain('branch.scripted.scripted.2');
    expect(rootRuns(family).length + again.length).toBe(family.runs.length);
    expect(findRun(family, 'leaf.scripted.scripted.3')?.sessionId).toBe('leaf');
  });

  it('has what all of it cost, nothing of it twice', async () => {
    const { journal } = await relatives();
    const family = await readFamily(journal, 'root');
    expect(family.spent.cost).toBe(5);
    expect(totalUsage(family)).toMatchObject({ input: 50, output: 5 });
    expect(family.members.map(({ spent }) => spent.cost)).toEqual([2, 1, 1, 1]);
    expect(familySpending(family, 'branch').cost).toBe(2);
    expect(familySpending(family, 'root')).toEqual(family.spent);
  });

  it('reads nothing twice that forks share', async () => {
    const { journal } = await relatives();
    const seen = new Map<string, number>();
    const counting: Journal = {
      ...journal,
      async *read(sessionId, from) {
        for await (const event of journal.read(sessionId, from)) {
          seen.set(sessionId, (seen.get(sessionId) ?? 0) + 1);
          yield event;
        }
      },
    };
    await readFamily(counting, 'root');
    const own = async (id: string, shared: number) => (await logOf(journal, id)).length - shared;
    const { sessions } = await journal.list();
    for (const { sessionId, parent } of sessions) {
      if (sessionId === 'stranger') continue;
      // Who is above the first of them is looked for in its first event.
      expect(seen.get(sessionId)).toBe((await own(sessionId, parent?.seq ?? 0)) + (parent ? 0 : 1));
    }
    expect(seen.has('stranger')).toBe(false);
  });

  it('goes on without those who were deleted: what forks shared with them is theirs then', async () => {
    const { journal, sessions } = await relatives();
    await sessions.remove('branch');
    const family = await readFamily(journal, 'leaf');
    expect(family.members.map(({ sessionId, tie }) => [sessionId, tie.kind])).toEqual([['leaf', 'root']]);
    expect(family.runs.map(({ runId }) => runId)).toEqual([
      'root.scripted.scripted.1',
      'branch.scripted.scripted.2',
      'leaf.scripted.scripted.3',
    ]);
    expect((await readFamily(journal, 'root')).members.map(({ sessionId }) => sessionId)).toEqual(['root', 'rerun']);
  });

  it('has sub-agents, with the call that started them, and those of forks', async () => {
    const journal = memoryJournal();
    const helper = defineAgent({ id: 'helper', model: priced('Done.', 'Done too.') });
    const call = { toolCalls: [{ name: 'helper', arguments: { prompt: 'Help.' } }], usage };
    const model = scriptedModel([call, says('Helped.'), call, says('Again.')], { cost: () => 1 });
    const agent = defineAgent({ model, tools: [asTool(helper, { name: 'helper', description: 'Helps.' })] });
    const session = await createSession(agent, { journal, id: 'root' });
    const { runId } = await session.prompt('Go.').result;
    const again = await rerunSession(agent, 'root', { journal, fork: { id: 'rerun' } });
    await again.run.result;

    const family = await readFamily(journal, 'root');
    const [first] = childMembers(family, 'root').filter(({ tie }) => tie.kind === 'sub_agent');
    expect(first?.tie).toMatchObject({ kind: 'sub_agent', sessionId: 'root', runId, toolName: 'helper' });
    expect(childMembers(family, 'rerun').map(({ tie }) => tie.kind)).toEqual(['sub_agent']);
    expect(childRuns(family, runId).map(({ sessionId }) => sessionId)).toContain(first?.sessionId);
    expect(family.members).toHaveLength(4);
    expect(family.spent.cost).toBe(6);
    expect(await readFamily(journal, first?.sessionId ?? '')).toEqual(family);
  });

  it('has sub-agents in the background too', async () => {
    const journal = memoryJournal();
    const helper = defineAgent({ id: 'helper', model: priced('Done.') });
    const call = { name: 'helper', arguments: { prompt: 'Help.', run_in_background: true } };
    const model = scriptedModel([{ toolCalls: [call], usage }, says('It is at it.'), says('It is done.')], {
      cost: () => 1,
    });
    const tools = [asTool(helper, { name: 'helper', description: 'Helps.' })];
    const agent = defineAgent({ model, tools, background: { tools: ['helper'], atEnd: 'wait' } });
    const session = await createSession(agent, { journal, id: 'root' });
    await session.prompt('Go.').result;
    await session.close();
    const family = await readFamily(journal, 'root');
    expect(family.members.map(({ tie }) => tie.kind)).toEqual(['root', 'sub_agent']);
    expect(family.members[1]?.tree.runs.map(({ status }) => status)).toEqual(['completed']);
  });

  it('has runs side by side, with the one that was selected, and counts what they cost once', async () => {
    const journal = memoryJournal();
    const agent = (configId: string) => defineAgent({ configId, model: priced('Yes.') });
    const session = await createSession(agent('own'), { journal, id: 'root' });
    const branches = ['a', 'b'].map((configId) => ({ agent: agent(configId) }));
    await runBranches(session, { branches, prompt: 'Which?', strategy: firstBranch() }).result;
    const family = await readFamily(journal, 'root');
    const selected = (is: boolean) =>
      family.members.filter(({ tie }) => tie.kind === 'branch' && tie.isSelected === is);
    const [[winner, ...otherWinners], [loser, ...otherLosers]] = [selected(true), selected(false)];
    expect([family.members.length, otherWinners.length, otherLosers.length]).toEqual([3, 0, 0]);
    expect(winner?.tree.runs.map(({ parallelGroup }) => parallelGroup?.isSelected)).toEqual([true]);
    expect(family.spent.cost).toBe(2);
    await sessionsOf(journal).remove(loser?.sessionId ?? '');
    // What the session says of a branch that is gone is all that is left of it.
    expect((await readFamily(journal, winner?.sessionId ?? '')).spent.cost).toBe(2);
  });
});
