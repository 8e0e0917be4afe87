import { memoryJournal, systemClock } from '@treadle/core';
import { liveFeedContract } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { liveSession } from '../test-support/live-session.ts';
import { memoryBus } from '../test-support/memory-bus.ts';
import { inProcess } from './in-process.ts';
import { sharedFeed } from './shared-feed.ts';

describe('the dispatcher of one process keeps the contract of live feeds', () => {
  const make = async () => {
    const { driver, under } = await liveSession(memoryJournal());
    return under(driver);
  };
  for (const { name, run } of liveFeedContract(make)) it(name, run);
});

describe('a feed of two processes keeps the contract of live feeds', () => {
  const make = async () => {
    const journal = memoryJournal();
    const { driver, under } = await liveSession(journal);
    const bus = memoryBus();
    // A reader says that it is there every four seconds: here they pass quickly.
    const clock = {
      ...systemClock,
      after: ((ms, ...more) => systemClock.after(ms / 10, ...more)) as typeof systemClock.after,
    };
    const there = sharedFeed({ live: driver, bus: bus.join(), clock });
    const here = sharedFeed({ live: inProcess({ journal, agentOf: () => undefined }), bus: bus.join(), clock });
    const subject = under(here);
    return {
      ...subject,
      async cut() {
        bus.cut(true);
        return async () => bus.cut(false);
      },
      async dispose() {
        there.stop();
        here.stop();
        await subject.dispose?.();
      },
    };
  };
  for (const { name, run } of liveFeedContract(make)) it(name, run);
});

describe('what another process sends', () => {
  it('is passed over where it has another shape, or claims to be in the log', async () => {
    const bus = memoryBus();
    const feed = sharedFeed({
      live: inProcess({ journal: memoryJournal(), agentOf: () => undefined }),
      bus: bus.join(),
      clock: systemClock,
    });
    const told: unknown[] = [];
    feed.subscribe('s', (event) => void told.push(event));
    const other = bus.join();
    const place = { afterSeq: 1, messageId: 'm', attempt: 0 };
    const delta = { type: 'message_delta', ...place, index: 0, kind: 'text', offset: 0, text: 'Hello' };
    const durable = { type: 'approval_requested', seq: 2, at: 0, approvalId: 'a' };
    const wrong = [
      5,
      null,
      ['s', 1, null, true],
      ['s', 1, [null], true],
      ['s', 1, [durable], true],
      ['s', 'x', [], true],
    ];
    for (const text of [
      '',
      '5',
      'null',
      '{"want":5}',
      '{"want":[5,["s"]]}',
      '{"live":null}',
      JSON.stringify({ live: wrong }),
    ])
      await other.send(text);
    await other.send(JSON.stringify({ live: [['s', 1, [{ ...delta, text: 5 }], true]] }));
    await other.send(JSON.stringify({ live: [['s', 1, [delta], true]] }));
    await expect.poll(() => told).toEqual([delta]);
    feed.stop();
  });
});
