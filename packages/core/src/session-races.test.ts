import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { journalOf, logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Journal,
  type Message,
  type Model,
  type Session,
  type UserInput,
} from './index.ts';
import { slowJournal } from './test-support/slow-journal.ts';

// What happens at the same time: inputs while the log is read, runs one after the other on one session, several handles
// of one session, processes that died between a post and its run.

const said = (messages: readonly Message[]): string[] =>
  messages.map((message) =>
    message.role === 'extension'
      ? message.kind
      : message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('+'),
  );

async function sessionOn(journal: Journal, turns: readonly (Turn | string)[]): Promise<Session> {
  return createSession(defineAgent({ model: scriptedModel(turns) }), { journal, id: 's1' });
}

const prompt = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

describe('an input that comes while the log is being read', () => {
  it.each([0, 1, 2, 3, 5, 8])('is heard: a cancellation %i microtasks after a steering message', async (microtasks) => {
    for (const journal of [memoryJournal(), slowJournal(memoryJournal())]) {
      const hold = Promise.withResolvers<void>();
      const session = await sessionOn(journal, [{ text: 'Hi.', wait: hold.promise }]);
      const run = session.prompt('Go.');
      await run.id;
      const steered = session.steer('Hurry.');
      for (let n = 0; n < microtasks; n++) await Promise.resolve();
      await session.abort();
      await steered;
      expect((await run.result).status).toBe('aborted');
      hold.resolve();
    }
  });

  it('is never folded twice, whatever is done at once on a slow journal', async () => {
    const action = fc.constantFrom('steer', 'followUp', 'abort', 'prompt', 'refresh', 'reset');
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 6 }), fc.nat(3), async (actions, rounds) => {
        const journal = slowJournal(memoryJournal(), rounds);
        const session = await sessionOn(
          journal,
          Array.from({ length: 20 }, () => 'Done.'),
        );
        const work: Promise<unknown>[] = [session.prompt('Go.').result];
        const failures: unknown[] = [];
        for (const what of actions) {
          const doing = async (): Promise<unknown> => {
            if (what === 'prompt') return session.prompt('More.').result;
            if (what === 'steer' || what === 'followUp') return session[what]('And?');
            return session[what]();
          };
          work.push(doing().catch((error: unknown) => failures.push(error)));
          await new Promise<void>((resolve) => setImmediate(resolve));
        }
        await Promise.all(work);
        await session.idle();
        for (const failure of failures) expect(failure).toMatchObject({ code: 'run_active' });
        await session.refresh();
        expect((await session.prompt('The last.').result).status).toBe('completed');
        const again = await openSession(defineAgent({ model: scriptedModel([]) }), 's1', { journal });
        expect(again.messages).toEqual(session.messages);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a prompt whose process died before its run began', () => {
  async function withWaiting(turns: readonly string[]): Promise<{ session: Session; journal: Journal; model: Model }> {
    const journal = memoryJournal();
    await sessionOn(journal, []);
    await journal.post('s1', prompt('First.'), 'k1', Date.now());
    const model = scriptedModel(turns);
    const session = await openSession(defineAgent({ model }), 's1', { journal });
    return { session, journal, model };
  }

  it('is work to resume', async () => {
    const { session } = await withWaiting(['Answer to the first.']);
    expect(session.status).not.toBe('idle');
    const run = session.resume();
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'Answer to the first.' });
    expect(result.runId).toBe(await run.id);
  });

  it('is answered before the next prompt, which gets its own answer', async () => {
    const { session, journal } = await withWaiting(['Answer to the first.', 'Answer to the second.']);
    const run = session.prompt('Second.');
    const seen: string[] = [];
    for await (const event of run) if (event.type === 'message_added') seen.push(...said([event.message]));
    const result = await run.result;
    expect(said(result.messages)).toEqual(['Second.', 'Answer to the second.']);
    expect(result.runId).toBe(await run.id);
    expect(seen).toEqual(['Second.', 'Answer to the second.']);
    expect(said(session.messages)).toEqual(['First.', 'Answer to the first.', 'Second.', 'Answer to the second.']);
    expect((await logOf(journal, 's1')).some(({ type }) => type === 'input_rejected')).toBe(false);
  });

  it('is kept and not answered when it is aborted', async () => {
    const { session } = await withWaiting([]);
    await session.abort('no longer needed');
    expect(session.status).toBe('idle');
    expect(said(session.messages)).toEqual(['First.']);
  });

  it('keeps its place when the conversation is replaced from elsewhere', async () => {
    const { session, journal } = await withWaiting(['Answer.']);
    await journal.post('s1', { type: 'import', messages: [] }, 'k2', Date.now());
    expect((await session.resume().result).text).toBe('Answer.');
  });
});

describe('a handle of a run', () => {
  it('cancels its own run and no later one', async () => {
    const session = await sessionOn(memoryJournal(), ['One.', 'Two.']);
    const one = session.prompt('First.');
    await one.result;
    const two = session.prompt('Second.');
    await one.abort('an old handle');
    expect((await two.result).status).toBe('completed');
  });

  it('in another process cancels by posting, for whoever drives', async () => {
    const journal = memoryJournal();
    const hold = Promise.withResolvers<void>();
    const session = await sessionOn(journal, [{ text: 'Hi.', wait: hold.promise }]);
    const run = session.prompt('Go.');
    await run.id;
    const other = await openSession(defineAgent({ model: scriptedModel([]) }), 's1', { journal });
    await other.abort('from elsewhere');
    expect(await run.result).toMatchObject({ status: 'aborted', message: 'from elsewhere' });
    hold.resolve();
  });

  it('may be read by two at once, each event once', async () => {
    const session = await sessionOn(memoryJournal(), ['One.']);
    const reader = session.prompt('First.')[Symbol.asyncIterator]();
    const [first, second] = await Promise.all([reader.next(), reader.next()]);
    expect([first.value, second.value]).toMatchObject([{ type: 'drive_started' }, { type: 'input_received' }]);
  });
});

describe('a stream of prompts', () => {
  const never = new Promise<never>(() => {});

  it('that has said nothing yet can be aborted', async () => {
    const session = await sessionOn(memoryJournal(), []);
    // oxlint-disable-next-line require-yield
    async function* silent(): AsyncGenerator<UserInput> {
      await never;
    }
    const run = session.prompt(silent());
    await run.abort('nobody speaks');
    await expect(run.result).rejects.toMatchObject({ code: 'cancelled', message: 'nobody speaks' });
    expect(session.activeRun).toBeNull();
  });

  it('that stays open is ended by the time limit', async () => {
    const clock = testClock();
    const agent = defineAgent({ model: scriptedModel(['One.']), limits: { maxDurationMs: 5000 } });
    const session = await createSession(agent, { clock });
    async function* endless(): AsyncGenerator<UserInput> {
      yield 'First.';
      await never;
    }
    const run = session.prompt(endless());
    const answered = Promise.withResolvers<void>();
    session.subscribe((event) => {
      if (event.type === 'message_added' && event.message.role === 'assistant') answered.resolve();
    });
    await answered.promise;
    for (let n = 0; n < 5; n++) await new Promise<void>((resolve) => setImmediate(resolve));
    await clock.advance(5000);
    expect(await run.result).toMatchObject({ status: 'time_limit', text: 'One.' });
  });

  it('that outlives its run says nothing to the next one', async () => {
    const late = Promise.withResolvers<void>();
    const session = await sessionOn(memoryJournal(), ['One.', 'Two.']);
    async function* slow(): AsyncGenerator<UserInput> {
      yield 'First.';
      await late.promise;
      yield 'Late.';
    }
    const one = session.prompt(slow());
    await one.id;
    await one.abort();
    await one.result;
    const two = session.prompt('Second.');
    late.resolve();
    await two.result;
    expect(said(session.messages)).not.toContain('Late.');
  });
});

describe('time nobody worked', () => {
  it('is no driven time, also when someone posted meanwhile', async () => {
    let now = 0;
    const clock = { now: () => now, after: () => () => {} };
    const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'seen' });
    const journal = memoryJournal();
    const agent = (turns: readonly (Turn | string)[]) =>
      defineAgent({ model: scriptedModel(turns), tools: [look], limits: { maxDurationMs: 5000 } });
    const first = await createSession(agent([{ toolCalls: [{ name: 'look' }] }, 'Done.']), {
      journal,
      id: 's0',
      clock,
    });
    await first.prompt('Go.').result;
    const events = await logOf(journal, 's0');
    const copy = await journalOf(events.slice(0, events.findIndex(({ type }) => type === 'tool_started') + 1));
    now += 3_600_000;
    const session = await openSession(agent(['Done.']), 's0', { journal: copy, clock });
    await session.steer('Hurry.');
    now += 3_600_000;
    expect((await session.resume().result).status).toBe('completed');
  });
});

describe('a limit that was reached', () => {
  it('stays reached when the clock is set back', async () => {
    const clock = testClock();
    let back = 0;
    const shifted = { ...clock, now: () => clock.now() - back, after: clock.after.bind(clock) };
    const hold = Promise.withResolvers<void>();
    const model = scriptedModel(Array.from({ length: 50 }, () => ({ text: 'Hi.', wait: hold.promise })));
    const session = await createSession(defineAgent({ model, limits: { maxDurationMs: 5000 } }), { clock: shifted });
    const calling = Promise.withResolvers<void>();
    session.subscribe((event) => {
      if (event.type === 'message_started') calling.resolve();
    });
    const run = session.prompt('Go.');
    await calling.promise;
    session.subscribe(() => {
      back = 60_000;
    });
    await clock.advance(5000);
    expect((await run.result).status).toBe('time_limit');
    expect(model.requests).toHaveLength(1);
    hold.resolve();
  });
});

describe('a claim that can not be let go', () => {
  it('does not undo a run that has ended', async () => {
    const journal = memoryJournal();
    const stubborn: Journal = {
      ...journal,
      async claim(...args) {
        return { ...(await journal.claim(...args)), release: () => Promise.reject(new Error('disk')) };
      },
    };
    const session = await sessionOn(stubborn, ['Done.']);
    expect((await session.prompt('Go.').result).status).toBe('completed');
  });
});
