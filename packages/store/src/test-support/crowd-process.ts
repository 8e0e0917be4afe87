import { createSession, defineAgent, sessionsOf } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { openStore, type StoreAt } from './stores.ts';

// One of several processes that work on the same store: many sessions at once, each with a run, and what they share.

export interface Crowd {
  readonly at: StoreAt;
  /** Numbers of the sessions of this process: from, and before. */
  readonly from: number;
  readonly before: number;
}

const { at, from, before } = JSON.parse(process.argv[2] ?? '') as Crowd;
const journal = openStore(at);
await journal.list();
process.stdout.write('ready\n');
// All of them begin together: at the first byte.
await new Promise((resolve) => process.stdin.once('data', resolve));
const prompt = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;
await Promise.all(
  Array.from({ length: before - from }, async (_, index) => {
    const number = from + index;
    const agent = defineAgent({ model: scriptedModel([`Answer ${number}.`]) });
    const session = await createSession(agent, { journal, id: `s${number}` });
    await journal.post('shared', prompt(`From ${number}.`), `k${number}`, 2);
    // A run is a dozen writes: one in five is enough to have some of them at any moment.
    if (number % 5 > 0) return journal.post(`s${number}`, prompt(`Prompt ${number}.`), 'k', 2);
    await sessionsOf(journal).tag('shared', [`t${number}`]);
    return session.prompt(`Prompt ${number}.`).result;
  }),
);
await journal.close();
process.exit(0);
