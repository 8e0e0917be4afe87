import assert from 'node:assert/strict';
import { createSession } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';
import { agentWith, type SessionCases } from './support.ts';

const numbers = Array.from({ length: 100 }, (_, index) => index);

/** Many sessions at the same time. */
export const crowdedSessions: SessionCases = {
  async 'S8: a hundred that are begun and spoken to at the same time are all listed, with all that was said in them'({
    journal,
    another,
  }) {
    const other = await another();
    await createSession(agentWith(), { journal, id: 'shared' });
    const prompt = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;
    await Promise.all(
      numbers.map(async (number) => {
        const own = number % 2 === 0 ? journal : other;
        await createSession(agentWith(), { journal: own, id: `s${number}` });
        await own.post(`s${number}`, prompt(`Prompt ${number}`), 'k', 2);
        await own.post('shared', prompt('All of us.'), `k${number}`, 2);
      }),
    );
    const all: SessionSummary[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await journal.list({ limit: 30, ...(cursor === undefined ? {} : { cursor }) });
      all.push(...page.sessions);
      if (page.cursor === undefined) break;
      ({ cursor } = page);
    }
    assert.deepEqual(
      all.map(({ sessionId, seq, firstPrompt }) => `${sessionId} ${seq} ${firstPrompt}`).toSorted(),
      ['shared 101 All of us.', ...numbers.map((number) => `s${number} 2 Prompt ${number}`)].toSorted(),
    );
  },
};
