import { journalOf, logOf } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { EVENT_VERSION } from './events/version.ts';
import { openSession } from './index.ts';
import {
  addToCorpus,
  corpusLog,
  corpusNames,
  corpusSummary,
  foldLog,
  logsOfThisVersion,
  payingAgent,
  summaryOf,
} from './test-support/corpus.ts';

// A new event version adds its logs with TREADLE_ADD_TO_CORPUS=1, once. What is there is never changed.
const adds = process.env['TREADLE_ADD_TO_CORPUS'] === '1';
it.runIf(adds)('adds the logs of this version to the corpus', async () => {
  for (const [name, log] of Object.entries(await logsOfThisVersion())) addToCorpus(`v${EVENT_VERSION}-${name}`, log);
});

describe('a log of any version', () => {
  it('S10: is there of every version up to this one', () => {
    const versions = new Set(corpusNames().map((name) => name.split('-')[0]));
    expect([...versions]).toEqual(Array.from({ length: EVENT_VERSION }, (_, index) => `v${index + 1}`));
  });

  it.each(corpusNames())('S10: %s folds to the state it had when it was written', (name) => {
    expect(summaryOf(foldLog(corpusLog(name)))).toEqual(corpusSummary(name));
  });

  it.each(corpusNames())('S10: %s is opened by a session, which changes nothing of it', async (name) => {
    const log = corpusLog(name);
    const journal = await journalOf(log);
    const session = await openSession(payingAgent([]), 's1', { journal });
    expect(session.messages).toEqual(foldLog(log).view);
    expect(await logOf(journal, 's1')).toEqual(log);
  });

  it.each(corpusNames().filter((name) => name.endsWith('-paused')))(
    'S10: %s goes on where it waited, with what was queued meanwhile',
    async (name) => {
      const session = await openSession(payingAgent(['It is paid.', 'Thank you.']), 's1', {
        journal: await journalOf(corpusLog(name)),
      });
      const { pending } = await session.resume().result;
      const question = pending.find(({ approvalId }) => approvalId !== undefined);
      await session.approve(question?.approvalId ?? '').result;
      const call = pending.find(({ toolName }) => toolName === 'pick');
      const result = await session.addToolOutputs([{ callId: call?.callId ?? '', content: 'blue' }]).result;
      expect(result).toMatchObject({ status: 'completed', text: 'Thank you.', turns: 3 });
      expect(result.messages.map((message) => (message.role === 'user' ? message.origin : message.role))).toEqual([
        'prompt',
        'assistant',
        'tool',
        'tool',
        'steering',
        'assistant',
        'follow_up',
        'assistant',
      ]);
    },
  );
});
