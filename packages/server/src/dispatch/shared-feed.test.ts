import { memoryJournal, systemClock } from '@treadle/core';
import { liveFeedContract } from '@treadle/testing';
import { describe, it } from 'vitest';
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
