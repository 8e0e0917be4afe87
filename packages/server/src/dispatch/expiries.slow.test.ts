// @module-tag slow
import process from 'node:process';
import { createSession, defineAgent, defineTool, memoryJournal, type DurableEvent, type Model } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import type { SessionPage } from '@treadle/core/journal';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { logOf } from '@treadle/testing';
import { expect, it, onTestFinished } from 'vitest';
import { serve } from '../index.ts';

const SLEEPING = 10_000;
/** How many of them have their time while the test runs, and within how long. */
const [EXPIRING, WINDOW_MS] = [300, 10_000];
/** An answer that nobody gives is settled so soon after its time; the test fails at three times that. */
const LATE_MS = 1000;

const model: Model = {
  provider: 'told',
  id: 'told',
  async *stream({ messages }) {
    const isCall = messages.at(-1)?.role === 'user';
    if (isCall) {
      const call = { type: 'tool_call', providerCallId: 'c', name: 'pay', argumentsText: '{}' } as const;
      yield { type: 'block_end', index: 0, block: call };
    } else yield { type: 'block_end', index: 0, block: { type: 'text', text: 'Then not.' } };
    yield { type: 'finish', stopReason: isCall ? 'tool_use' : 'stop', usage: UNKNOWN_USAGE };
  },
};
const agent = defineAgent({
  id: 'payer',
  model,
  tools: [defineTool({ name: 'pay', description: 'Pays.', execute: () => 'paid' })],
  permissions: { ask: ['pay'], answerTimeoutMs: 1_000_000 },
});

/** The log of a session that waits for an answer, and when that expires. */
async function sleepingLog(): Promise<{ readonly events: readonly DurableEvent[]; readonly expiresAt: number }> {
  const journal = memoryJournal();
  const session = await createSession(agent, { id: 'template', journal });
  await session.prompt('Pay.').outcome;
  await session.close();
  const events = await logOf(journal, 'template');
  const expiresAt = Number(/"expiresAt":(\d+)/.exec(JSON.stringify(events))?.[1]);
  return { events, expiresAt };
}

it(
  `settles each of ${EXPIRING} answers that nobody gives within a second of its time, while 10,000 sessions sleep`,
  { timeout: 120_000 },
  async () => {
    const journal = memoryJournal();
    const { events, expiresAt } = await sleepingLog();
    const text = JSON.stringify(events.map(({ seq: _, ...body }) => body));
    // Long enough from now for all to be there, and the server to run.
    const begin = Date.now() + 15_000;
    const dueAt = (index: number): number =>
      index < EXPIRING ? begin + Math.floor((index * WINDOW_MS) / EXPIRING) : begin + 1_000_000;
    for (let index = 0; index < SLEEPING; index += 1) {
      const id = `s${index}`;
      const own = text.replaceAll('"template', `"${id}`).replaceAll(`${expiresAt}`, `${dueAt(index)}`);
      const [first, ...rest] = JSON.parse(own) as [DurableEventBody, ...DurableEventBody[]];
      await journal.create(id, first);
      const claim = await journal.claim(id, { id: 'a', label: 'a' });
      await journal.append(id, claim.epoch, 1, rest);
      const seen = rest.length + 1;
      await claim.release({ seen, wakeAt: dueAt(index), status: 'paused', waitsFor: ['approval'] });
    }
    expect(Date.now(), 'all sleep before the first has its time').toBeLessThan(begin);
    // What is open has been read.
    let opened = 0;
    const read: typeof journal.read = (id, from) => {
      opened += 1;
      return journal.read(id, from);
    };
    const serving = await serve({ agents: [agent], journal: { ...journal, read } });
    onTestFinished(async () => void (await serving.close(0)));
    const statuses: string[] = [];
    const headers = { authorization: `Bearer ${serving.token}` };
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const response = await fetch(`${serving.url}/v1/sessions?limit=100&cursor=${cursor}`.replace(/&cursor=$/, ''), {
        headers,
      });
      const page = (await response.json()) as SessionPage;
      statuses.push(...page.sessions.map(({ status, waitsFor = [] }) => [status, ...waitsFor].join(' ')));
      ({ cursor } = page);
    }
    expect(statuses).toEqual(Array(SLEEPING).fill('paused approval'));
    expect(Date.now(), 'all are listed before the first has its time').toBeLessThan(begin);
    expect(opened, 'neither the start nor a list opens a session').toBe(0);
    await new Promise((resolve) => void setTimeout(resolve, begin + WINDOW_MS + 3 * LATE_MS - Date.now()));
    const lates: number[] = [];
    for (let index = 0; index < EXPIRING; index += 1) {
      const settled = (await logOf(journal, `s${index}`)).find(({ type }) => type === 'tool_call_rejected');
      expect(settled, `the answer of s${index} has expired`).toMatchObject({ reason: 'expired' });
      lates.push((settled?.at ?? Infinity) - dueAt(index));
    }
    lates.sort((a, b) => a - b);
    const [median, most] = [lates[EXPIRING / 2], lates.at(-1)];
    process.stdout.write(`${SLEEPING} sleep, ${EXPIRING} expire: late by ${median} ms (median), ${most} (most)\n`);
    expect(lates[0]).toBeGreaterThanOrEqual(0);
    expect(lates.at(-1)).toBeLessThan(3 * LATE_MS);
    // The others sleep on.
    expect((await logOf(journal, `s${EXPIRING}`)).length).toBe(events.length);
  },
);
