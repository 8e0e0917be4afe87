import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createSession, defineAgent, openSession, type Journal } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';
import { logOf, scriptedModel } from '@treadle/testing';
import { expect } from 'vitest';
import { systemProcesses, type ProcessTable } from '../processes.ts';
import type { Crowd } from './crowd-process.ts';
import { programOf, type TestStore } from './stores.ts';

function startProgram(module: string, store: TestStore, input: unknown) {
  const program = programOf(module, store.at);
  const child = spawn(process.execPath, [...program.execArgv, program.module.pathname, JSON.stringify(input)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return { child, exited: once(child, 'exit'), said: once(child.stdout, 'data') };
}

/** While another process drives a session, who does is said; when that one is killed, its run is taken over at once. */
export async function holderIsNamedAndTakenOver(store: TestStore): Promise<void> {
  const { child, exited, said } = startProgram('./holder-process.ts', store, store.at);
  await said;
  const journal = await store.open();
  const session = await openSession(defineAgent({ model: scriptedModel(['Taken over.']) }), 's', { journal });
  const refusal = {
    code: 'session_busy',
    message: expect.stringContaining(`the process ${child.pid}`) as string,
  };
  const length = (await logOf(journal, 's')).length;
  await expect(session.resume().result).rejects.toMatchObject(refusal);
  await expect(journal.claim('s', { id: 'second', label: 'second' })).rejects.toMatchObject(refusal);
  expect(await logOf(journal, 's')).toHaveLength(length);
  child.kill('SIGKILL');
  await exited;
  expect(await session.resume().result).toMatchObject({ status: 'completed', text: 'Taken over.' });
  const log = await logOf(journal, 's');
  expect(log.flatMap((event) => (event.type === 'drive_started' ? [event.epoch] : []))).toEqual([1, 2]);
  expect(log.filter(({ type }) => type === 'run_ended')).toHaveLength(1);
}

/** A process that has the id of a dead one is not taken for it. The table that decides is the operating system's own. */
export async function reusedProcessIdHoldsNothing(store: TestStore): Promise<void> {
  const self = systemProcesses.self();
  const startedAt = (start: string | null): ProcessTable => ({
    self: () => ({ ...self, start }),
    isGone: (process) => systemProcesses.isGone(process),
  });
  // This process itself has the id that both leases name; it started at only one of the two times.
  const [living, dead] = [startedAt(self.start), startedAt(`${self.start}0`)];
  const after = await store.open();
  for (const [sessionId, before] of [
    ['held', living],
    ['free', dead],
  ] as const) {
    const journal = await store.open(before);
    await journal.create(sessionId, { type: 'session_created', at: 1, eventVersion: 1, sessionId });
    await journal.claim(sessionId, { id: 'a', label: 'the one before' });
  }
  await expect(after.claim('held', { id: 'b', label: 'b' })).rejects.toMatchObject({ code: 'session_busy' });
  expect((await after.claim('free', { id: 'b', label: 'b' })).epoch).toBe(2);
}

async function everyPage(journal: Journal): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await journal.list({ limit: 30, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...page.sessions);
    if (page.cursor === undefined) return all;
    ({ cursor } = page);
  }
}

/** A hundred sessions in three processes, at the same time: all are listed, whole, and so is what they share. */
export async function hundredAtOnce(store: TestStore): Promise<void> {
  const journal = await store.open();
  await createSession(defineAgent({ model: scriptedModel([]) }), { journal, id: 'shared' });
  const processes = [0, 34, 67].map((from, index, all) =>
    startProgram('./crowd-process.ts', store, { at: store.at, from, before: all[index + 1] ?? 100 } satisfies Crowd),
  );
  await Promise.all(processes.map(({ said }) => said));
  for (const { child } of processes) child.stdin.write('go\n');
  for (const { exited } of processes) expect((await exited)[0]).toBe(0);

  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const sessions = await everyPage(journal);
  const own = sessions.filter(({ sessionId }) => sessionId !== 'shared');
  expect(sessions).toHaveLength(own.length + 1);
  expect(own.map(({ sessionId, firstPrompt }) => `${sessionId}: ${firstPrompt}`).toSorted()).toEqual(
    numbers.map((number) => `s${number}: Prompt ${number}.`).toSorted(),
  );
  for (const number of numbers) {
    const log = await logOf(journal, `s${number}`);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    const isRun = number % 5 === 0;
    expect(JSON.stringify(log).includes(`Answer ${number}.`)).toBe(isRun);
    expect(log.at(-1)).toMatchObject(isRun ? { type: 'run_ended', status: 'completed' } : { seq: 2, key: 'k' });
  }
  const shared = await logOf(journal, 'shared');
  expect(shared.map(({ seq }) => seq)).toEqual(shared.map((_, index) => index + 1));
  const prompts = shared.flatMap((event) =>
    event.type === 'input_received' && event.input.type === 'prompt' ? [event.key] : [],
  );
  expect(prompts.toSorted()).toEqual(numbers.map((number) => `k${number}`).toSorted());
  const { tags = [] } = sessions.find(({ sessionId }) => sessionId === 'shared') ?? {};
  expect(tags.toSorted()).toEqual(
    numbers
      .filter((number) => number % 5 === 0)
      .map((number) => `t${number}`)
      .toSorted(),
  );
}
