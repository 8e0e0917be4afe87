import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Journal } from '@treadle/core';
import { expect } from 'vitest';
import { programOf, type TestStore } from './stores.ts';

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

/** While another process holds a session, who holds it is said; when that one is killed, it is taken over at once. */
export async function holderIsNamedAndTakenOver(store: TestStore): Promise<void> {
  const journal = await store.open();
  await journal.create('s', created('s'));
  const { module, execArgv } = programOf('./holder-process.ts', store.at);
  const holder = spawn(process.execPath, [...execArgv, module.pathname, JSON.stringify(store.at)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(holder, 'exit');
  await once(holder.stdout, 'data');
  await expect(journal.claim('s', { id: 'second', label: 'second' })).rejects.toMatchObject({
    code: 'session_busy',
    message: expect.stringContaining(`the process ${holder.pid}`) as string,
  });
  holder.kill('SIGKILL');
  await exited;
  const claim = await journal.claim('s', { id: 'second', label: 'second' });
  expect(claim.epoch).toBe(2);
  expect((await journal.append('s', claim.epoch, claim.seq, [created('s')])).ok).toBe(true);
}

/** A hundred sessions that are made and written at the same time are all listed, with all that was said in them. */
export async function hundredAtOnce(store: TestStore): Promise<void> {
  const journals: Journal[] = await Promise.all([1, 2, 3, 4].map(() => store.open()));
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const journal = journals[index % journals.length];
      await journal?.create(`s${index}`, created(`s${index}`));
      await journal?.post(`s${index}`, note(`prompt ${index}`), 'k', 2);
    }),
  );
  const { sessions } = (await journals[0]?.list({ limit: 200 })) ?? { sessions: [] };
  expect(sessions.map(({ sessionId, seq, firstPrompt }) => `${sessionId} ${seq} ${firstPrompt}`).toSorted()).toEqual(
    Array.from({ length: 100 }, (_, index) => `s${index} 2 prompt ${index}`).toSorted(),
  );
}
