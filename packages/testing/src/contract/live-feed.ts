import assert from 'node:assert/strict';
import type { TreadleEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import type { LiveFeed } from '@treadle/core/ports';
import { contractOf, type Cases, type ContractCase } from './case.ts';

/** A fresh feed for one case of the contract, and a session whose model says what the case wants. */
export interface LiveFeedUnderTest {
  /** Where the session is read. */
  readonly feed: LiveFeed;
  readonly sessionId: string;
  /** Starts a run, here or elsewhere. Resolves when its model is being asked. */
  readonly begin: () => Promise<void>;
  /** The model says more of its message: one block of text. */
  readonly say: (text: string) => void;
  /** The provider begins its message anew. */
  readonly restart: () => void;
  /** The message ends, and with it the run. Resolves when both are in the log. */
  readonly finish: () => Promise<void>;
  /** Cuts the way between where it is driven and where it is read; what it returns mends it. Absent where there is none. */
  readonly cut?: () => Promise<() => Promise<void>>;
  /** Called after the case, whatever came of it. */
  readonly dispose?: () => Promise<void>;
}

/** A reader as a stream has it: it takes of what it is told what it lacks. */
interface Reader {
  readonly text: () => string;
  /** Resolves once the open message has this text. */
  readonly reads: (text: string) => Promise<void>;
  readonly told: readonly TreadleEvent[];
  readonly stop: () => void;
}

const LONGEST_WAIT_MS = 20_000;

function read({ feed, sessionId }: LiveFeedUnderTest): Reader {
  const told: TreadleEvent[] = [];
  let message: { readonly name: string; text: string } | null = null;
  let changed = (): void => {};

  function take(event: TreadleEvent | LiveEvent): void {
    if (event.type === 'message_started') {
      const name = `${event.messageId} ${event.attempt} ${event.restart ?? 0}`;
      if (message?.name !== name) message = { name, text: '' };
    }
    if (event.type === 'message_delta' && message?.name.startsWith(`${event.messageId} ${event.attempt} `)) {
      const { offset, text } = event;
      assert.ok(offset <= message.text.length, `there is a hole before ${JSON.stringify(text)}`);
      const known = message.text.slice(offset, offset + text.length);
      assert.equal(text.slice(0, known.length), known, 'what is told again is what was told');
      message.text += text.slice(known.length);
    }
    changed();
  }

  const stop = feed.subscribe(sessionId, (event) => {
    told.push(event);
    take(event);
  });
  for (const event of feed.openMessage(sessionId)) take(event);
  return {
    told,
    stop,
    text: () => message?.text ?? '',
    async reads(text) {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(
        () =>
          late.reject(
            new assert.AssertionError({ message: 'nothing more comes', actual: message?.text, expected: text }),
          ),
        LONGEST_WAIT_MS,
      );
      try {
        while (message?.text !== text) {
          const next = new Promise<void>((resolve) => {
            changed = resolve;
          });
          await Promise.race([next, late.promise]);
        }
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

const CASES: Cases<LiveFeedUnderTest> = {
  async 'tells a message as it comes'(under) {
    const reader = read(under);
    await under.begin();
    for (const [piece, text] of [
      ['One ', 'One '],
      ['two ', 'One two '],
      ['three.', 'One two three.'],
    ] as const) {
      under.say(piece);
      await reader.reads(text);
    }
    await under.finish();
  },
  async 'tells who comes late what was said before, and what comes'(under) {
    await under.begin();
    under.say('Before. ');
    const first = read(under);
    await first.reads('Before. ');
    const second = read(under);
    await second.reads('Before. ');
    under.say('After.');
    await Promise.all([first, second].map((reader) => reader.reads('Before. After.')));
    await under.finish();
  },
  async 'keeps every character, whatever it is'(under) {
    const reader = read(under);
    await under.begin();
    const pieces = ['"\\\n\u0000', '東京', '👩‍🚀', 'x'.repeat(20_000), '🙂'.repeat(5000), 'e\u0301'];
    for (const piece of pieces) under.say(piece);
    await reader.reads(pieces.join(''));
    await under.finish();
  },
  async 'tells a message anew when its provider begins it anew'(under) {
    const reader = read(under);
    await under.begin();
    under.say('Half of');
    await reader.reads('Half of');
    under.restart();
    under.say('All of it.');
    await reader.reads('All of it.');
    await read(under).reads('All of it.');
    await under.finish();
  },
  async 'tells one message after the other'(under) {
    const reader = read(under);
    for (const text of ['The first.', 'The second.']) {
      await under.begin();
      under.say(text);
      await reader.reads(text);
      await under.finish();
    }
  },
  async 'gives the open message as objects of its own each time, and none when none is open'(under) {
    const { feed, sessionId } = under;
    assert.deepEqual(feed.openMessage(sessionId), []);
    const reader = read(under);
    await under.begin();
    under.say('Open.');
    await reader.reads('Open.');
    const [first, second] = [feed.openMessage(sessionId), feed.openMessage(sessionId)];
    assert.deepEqual(first, second);
    for (const event of first) assert.ok(!second.includes(event), 'each has events of its own');
    await under.finish();
    assert.deepEqual(feed.openMessage(sessionId), []);
  },
  async 'tells nothing to who has left, and goes on telling the others'(under) {
    const [stays, leaves] = [read(under), read(under)];
    await under.begin();
    under.say('Both. ');
    await Promise.all([stays, leaves].map((reader) => reader.reads('Both. ')));
    leaves.stop();
    const { length } = leaves.told;
    under.say('One.');
    await stays.reads('Both. One.');
    assert.equal(leaves.told.length, length);
    await under.finish();
  },
  async 'tells what came while the way was cut, once it is mended'(under) {
    if (!under.cut) return;
    const reader = read(under);
    await under.begin();
    under.say('Before, ');
    await reader.reads('Before, ');
    const mend = await under.cut();
    under.say('meanwhile, ');
    await mend();
    await reader.reads('Before, meanwhile, ');
    under.say('after.');
    await reader.reads('Before, meanwhile, after.');
    await under.finish();
  },
};

/**
 * What every `LiveFeed` must do, as a list of cases for any test runner. `make` is called for each case. A feed may tell again
 * what it has told: an offset says where a delta belongs. Between what it has told of a message and what comes there is never a
 * hole.
 *
 * @example
 * ```ts
 * import { liveFeedContract, type LiveFeedUnderTest } from '@treadle/testing';
 *
 * // With any runner: for (const { name, run } of cases(make)) it(name, run);
 * const cases = (make: () => Promise<LiveFeedUnderTest>) => liveFeedContract(make);
 * console.log(typeof cases); // function
 * ```
 */
export function liveFeedContract(make: () => LiveFeedUnderTest | Promise<LiveFeedUnderTest>): ContractCase[] {
  return contractOf(CASES, make, undefined);
}
