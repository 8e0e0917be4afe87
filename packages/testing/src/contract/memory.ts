import assert from 'node:assert/strict';
import type { Memory } from '@treadle/core';
import type { FinishedRun, MemoryQuery } from '@treadle/core/features';
import { contractOf, type Cases, type ContractCase } from './case.ts';
import { chanceOf } from '../chance.ts';

/** A fresh, empty memory for one case of the contract, which keeps each agent's runs apart. */
export interface MemoryUnderTest {
  readonly memory: Memory;
  /** The same memory once more, as another process would open it. Those that live in one process leave it out. */
  readonly open?: () => Promise<Memory>;
  /** Called after the case, whatever came of it. */
  readonly dispose?: () => Promise<void>;
}

/** Options of {@link memoryContract}. */
export interface MemoryContractOptions {
  /** Seed of the random texts. Default 1: the same each time. A failure names it. */
  readonly seed?: number;
  /** How many random texts. Default 50. */
  readonly runs?: number;
}

type MemoryCases = Cases<MemoryUnderTest, Required<MemoryContractOptions>>;

const finished = (runId: string, prompt: string, answer: string, over: Partial<FinishedRun> = {}): FinishedRun => ({
  sessionId: 's',
  runId,
  agentId: 'agent',
  prompt,
  answer,
  messages: [],
  at: 1_700_000_000_000,
  signal: new AbortController().signal,
  ...over,
});

const asked = (query: string, over: Partial<MemoryQuery> = {}): MemoryQuery => ({
  sessionId: 's2',
  runId: 'new',
  agentId: 'agent',
  query,
  messages: [],
  signal: new AbortController().signal,
  ...over,
});

/** What is found, as texts. */
async function found(memory: Memory, query: string, over: Partial<MemoryQuery> = {}): Promise<string[]> {
  const blocks = await memory.retrieve(asked(query, over));
  assert.ok(Array.isArray(blocks), 'retrieve resolves to a list');
  return blocks.map((block) => (typeof block === 'string' ? block : JSON.stringify(block)));
}

const FRIDAY = 'Deployments happen on Fridays at noon.';
const COFFEE = 'The coffee machine is descaled every month.';

const CASES: MemoryCases = {
  async 'knows nothing at first'({ memory }) {
    assert.deepEqual(await found(memory, 'When do deployments happen?'), []);
  },
  async 'brings back what was said and what was answered'({ memory }) {
    await memory.update(finished('r1', 'When is the migration due?', FRIDAY));
    for (const query of ['Tell me about the migration.', 'deployments?']) {
      const [text] = await found(memory, query);
      assert.ok(text?.includes('migration due') && text.includes(FRIDAY), `${query} finds the run`);
    }
  },
  async 'leaves out what has nothing to do with the prompt'({ memory }) {
    await memory.update(finished('r1', 'Note this.', FRIDAY));
    assert.deepEqual(await found(memory, 'Who wrote the parser?'), []);
    assert.deepEqual(await found(memory, ''), []);
    assert.deepEqual(await found(memory, '?! … '), []);
  },
  async 'puts what fits best first'({ memory }) {
    await memory.update(finished('r1', 'The coffee is cold.', 'I am sorry.'));
    await memory.update(finished('r2', 'Note this.', COFFEE));
    await memory.update(finished('r3', 'Note this too.', FRIDAY));
    const texts = await found(memory, 'When was the coffee machine descaled?');
    assert.ok(texts[0]?.includes(COFFEE), 'the run with the most of the words is first');
    assert.ok(!texts.some((text) => text.includes(FRIDAY)), 'a run with none of them is not there');
  },
  async 'is told of a run twice, and what it was told last counts'({ memory }) {
    await memory.update(finished('r1', 'Note this.', FRIDAY));
    await memory.update(finished('r1', 'Note this.', FRIDAY));
    assert.equal((await found(memory, 'deployments')).length, 1);
    await memory.update(finished('r1', 'Note this.', 'Deployments happen on Mondays.'));
    const texts = await found(memory, 'deployments');
    assert.equal(texts.length, 1);
    assert.ok(texts[0]?.includes('Mondays') && !texts[0].includes('Fridays'));
    assert.deepEqual(await found(memory, 'noon'), []);
  },
  async 'is told of runs at the same time'({ memory }) {
    const ids = ['a', 'b', 'c', 'a', 'b', 'c'];
    await Promise.all(ids.map((id) => memory.update(finished(id, `Note ${id}.`, FRIDAY))));
    assert.equal((await found(memory, 'deployments')).length, 3);
  },
  async "keeps one agent's runs from another's"({ memory }) {
    await memory.update(finished('r1', 'Note this.', FRIDAY, { agentId: 'other' }));
    assert.deepEqual(await found(memory, 'deployments on fridays'), []);
    await memory.update(finished('r1', 'Note this.', COFFEE));
    assert.equal((await found(memory, 'deployments coffee')).length, 1);
    assert.equal((await found(memory, 'deployments coffee', { agentId: 'other' })).length, 1);
  },
  async 'finds words in whatever case and script'({ memory }) {
    await memory.update(finished('r1', 'ΑΘΗΝΑ und Größe', 'Erledigt.'));
    await memory.update(finished('r2', '东京的数据库在哪里？', '在服务器上。'));
    assert.equal((await found(memory, 'Wie war das mit αθηνα?')).length, 1);
    assert.equal((await found(memory, 'GRÖSSE oder größe')).length, 1);
    assert.equal((await found(memory, '数据库')).length, 1);
  },
  async 'takes nothing in a prompt for anything but words'({ memory }) {
    await memory.update(finished('r1', 'Note this.', FRIDAY));
    const hostile = [
      '"deployments',
      'deployments" OR "*',
      'deployments*',
      '^deployments',
      'NEAR(deployments fridays, 5)',
      'words : deployments',
      'scope : n1 AND deployments',
      '{words scope} : deployments',
      '- deployments',
      'deployments AND NOT deployments',
      "deployments'; DROP TABLE memories; --",
      'deployments) OR (1=1',
      '\u0000deployments\u0000',
      '\ud800 deployments \udfff',
      '%deployments_',
    ];
    for (const query of hostile) assert.equal((await found(memory, query)).length, 1, JSON.stringify(query));
    assert.deepEqual(await found(memory, 'scope : n1 OR words : *'), []);
  },
  async 'never fails over a text, whatever is in it'({ memory }, { seed, runs }) {
    const random = chanceOf(seed);
    const pieces = [
      '"',
      "'",
      '*',
      '(',
      ')',
      ':',
      '^',
      '-',
      '\u0000',
      '\ud800',
      ' ',
      'OR',
      'AND',
      'NEAR',
      'é',
      '东',
      '🙂',
      '\u0301',
    ];
    for (let run = 0; run < runs; run += 1) {
      const length = Math.floor(random() * 20);
      const text = Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)]).join('');
      const what = `seed ${seed}: ${JSON.stringify(text)}`;
      await assert.doesNotReject(memory.update(finished(`r${run}`, text, text)), what);
      await assert.doesNotReject(memory.retrieve(asked(text)), what);
    }
  },
  async 'takes in and is asked texts of any length, and answers with a bounded one'({ memory }) {
    const long = 'deployments fridays noon migration parser '.repeat(20_000);
    for (let run = 0; run < 20; run += 1) await memory.update(finished(`r${run}`, `Note ${run}.`, FRIDAY));
    await memory.update(finished('long', long, 'Read.'));
    const texts = await found(memory, long);
    assert.ok(texts.length > 0 && texts.length <= 20, 'some runs are found, not all of them');
  },
};

const REOPENED: MemoryCases = {
  async 'still knows when it is opened again, and hears of what others are told'({ memory, open }) {
    if (!open) return;
    const other = await open();
    await memory.update(finished('r1', 'Note this.', FRIDAY));
    assert.equal((await found(other, 'deployments')).length, 1);
    await other.update(finished('r1', 'Note this.', COFFEE));
    assert.deepEqual(await found(memory, 'deployments'), []);
    assert.equal((await found(memory, 'coffee')).length, 1);
  },
};

/**
 * What every `Memory` must do, as a list of cases for any test runner. `make` is called for each case; with `shared` those
 * that open the memory twice are among them.
 *
 * @example
 * ```ts
 * import { memoryContract, transientMemory } from '@treadle/testing';
 *
 * // With any runner: for (const { name, run } of memoryContract(make)) it(name, run);
 * for (const { run } of memoryContract(() => ({ memory: transientMemory() }))) await run();
 * ```
 */
export function memoryContract(
  make: () => MemoryUnderTest | Promise<MemoryUnderTest>,
  options: MemoryContractOptions & { readonly shared?: boolean } = {},
): ContractCase[] {
  const cases = options.shared === true ? { ...CASES, ...REOPENED } : CASES;
  return contractOf(cases, make, { seed: 1, runs: 50, ...options });
}
