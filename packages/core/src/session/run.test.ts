import { describe, expect, it } from 'vitest';
import { scriptedModel } from '@treadle/testing';
import { UNKNOWN_USAGE } from '../entries/model.ts';
import { runResultFold } from '../entries/projections.ts';
import {
  createSession,
  defineAgent,
  isDurable,
  memoryJournal,
  type Journal,
  type Model,
  type Run,
  type TreadleEvent,
} from '../index.ts';

async function eventsOf(run: Run): Promise<TreadleEvent[]> {
  const events: TreadleEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

const textOf = (events: readonly TreadleEvent[]): string =>
  events.map((event) => (event.type === 'message_delta' ? event.text : '')).join('');

const long = Array.from({ length: 5000 }, (_, n) => `word${n} `).join('');

describe('reading a run', () => {
  it('by two readers gives both the same', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello to both of you.']) }));
    const run = session.prompt('Go.');
    const [first, second] = await Promise.all([eventsOf(run), eventsOf(run)]);
    expect(first).toEqual(second);
    expect(textOf(first)).toBe('Hello to both of you.');
  });

  it('after its end gives the durable events it missed', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }));
    const run = session.prompt('Go.');
    const early = eventsOf(run);
    await run.result;
    expect(await eventsOf(run)).toEqual((await early).filter(isDurable));
  });

  it('from the middle of a message gives that message from its beginning', async () => {
    const hold = Promise.withResolvers<void>();
    const model = scriptedModel([
      { text: 'One two three four.', chunkSize: 4, waitAfter: { deltas: 2, until: hold.promise } },
    ]);
    const session = await createSession(defineAgent({ model }));
    const run = session.prompt('Go.');
    let seen = 0;
    const half = Promise.withResolvers<void>();
    session.subscribe((event) => {
      if (event.type === 'message_delta' && ++seen === 2) half.resolve();
    });
    await half.promise;
    const late = eventsOf(run);
    hold.resolve();
    const events = await late;
    expect(textOf(events)).toBe('One two three four.');
    const deltas = events.flatMap((event) => (event.type === 'message_delta' ? [event.offset] : []));
    expect(deltas[0]).toBe(0);
    expect(deltas[1]).toBe(8);
    expect(events.map(({ type }) => type).filter((type) => type === 'message_started')).toHaveLength(1);
  });

  it('slowly loses no text and holds little: neighbouring deltas are joined', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel([{ text: long, chunkSize: 5 }]) }));
    const run = session.prompt('Go.');
    const reader = run[Symbol.asyncIterator]();
    const first = await reader.next();
    await run.result;
    const events: TreadleEvent[] = first.done === true ? [] : [first.value];
    for (let next = await reader.next(); next.done !== true; next = await reader.next()) events.push(next.value);
    expect(textOf(events)).toBe(long);
    expect(events.length).toBeLessThan(1100);
    let end = 0;
    for (const event of events) {
      if (event.type !== 'message_delta') continue;
      expect(event.offset).toBe(end);
      end += event.text.length;
    }
  });

  it('slowly never joins deltas of different blocks', async () => {
    // Of four neighbouring deltas, two are of one block and two of the other.
    const sent = Array.from({ length: 5000 }, (_, n) => ({ index: (n >> 1) % 2, text: `${n} ` }));
    const texts = [0, 1].map((block) => sent.map(({ index, text }) => (index === block ? text : '')).join(''));
    const model: Model = {
      provider: 'odd',
      id: 'odd',
      async *stream() {
        yield { type: 'start' };
        for (const { index, text } of sent) yield { type: 'text_delta', index, text };
        for (const [index, text] of texts.entries()) yield { type: 'block_end', index, block: { type: 'text', text } };
        yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
      },
    };
    const run = (await createSession(defineAgent({ model }))).prompt('Go.');
    const reader = run[Symbol.asyncIterator]();
    await reader.next();
    await run.result;
    const read = ['', ''];
    let deltas = 0;
    for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
      const event = next.value;
      if (event.type !== 'message_delta') continue;
      deltas += 1;
      expect(event.offset).toBe(read[event.index]?.length);
      read[event.index] += event.text;
    }
    expect(read).toEqual(texts);
    // Those that are of one block were joined.
    expect(deltas).toBeGreaterThan(2500);
    expect(deltas).toBeLessThan(3500);
  });

  it.each(['before its first event', 'in the middle', 'while it reads'])(
    'late and leaving it %s closes what it read the log from',
    async (when) => {
      const inner = memoryJournal();
      let opened = 0;
      let closed = 0;
      const journal: Journal = {
        ...inner,
        async *read(sessionId, from) {
          opened += 1;
          try {
            yield* inner.read(sessionId, from);
          } finally {
            closed += 1;
          }
        },
      };
      const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
      const run = session.prompt('Go.');
      await run.result;
      const before = opened - closed;
      const reader = run[Symbol.asyncIterator]();
      const reading = when === 'before its first event' ? undefined : reader.next();
      if (when === 'in the middle') await reading;
      await reader.return?.();
      await reading;
      expect(opened - closed).toBe(before);
      expect(await reader.next()).toEqual({ done: true, value: undefined });
    },
  );

  it('late and breaking off closes what it read the log from', async () => {
    const inner = memoryJournal();
    const open = new Set<object>();
    const journal: Journal = {
      ...inner,
      async *read(sessionId, from) {
        const reading = {};
        open.add(reading);
        try {
          yield* inner.read(sessionId, from);
        } finally {
          open.delete(reading);
        }
      },
    };
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
    const run = session.prompt('Go.');
    await run.result;
    for await (const event of run) {
      expect(event.type).toBe('drive_started');
      break;
    }
    expect(open.size).toBe(0);
  });

  it('may be left early, and the run goes on', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel([{ text: long }]) }));
    const run = session.prompt('Go.');
    for await (const event of run) if (event.type === 'message_delta') break;
    expect((await run.result).text).toBe(long);
  });

  it('whose provider begins its message again begins again too', async () => {
    const model: Model = {
      provider: 'odd',
      id: 'odd',
      async *stream() {
        yield { type: 'start' };
        yield { type: 'text_delta', index: 0, text: 'Hel' };
        yield { type: 'block_end', index: 1, block: { type: 'text', text: 'left over' } };
        yield { type: 'start' };
        yield { type: 'text_delta', index: 0, text: 'Hello.' };
        yield { type: 'block_end', index: 0, block: { type: 'text', text: 'Hello.' } };
        yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
      },
    };
    const run = (await createSession(defineAgent({ model }))).prompt('Go.');
    const events = await eventsOf(run);
    const live = events.filter((event) => !isDurable(event)).map(({ type }) => type);
    expect(live).toEqual(['message_started', 'message_delta', 'message_started', 'message_delta']);
    expect((await run.result).finalMessage?.content).toEqual([{ type: 'text', text: 'Hello.' }]);
  });

  it('that can not be driven throws, as its result and its id reject', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel([]) }));
    async function* nothing(): AsyncGenerator<string> {}
    const run = session.prompt(nothing());
    await expect(eventsOf(run)).rejects.toMatchObject({ code: 'empty_prompt' });
    await expect(run.result).rejects.toMatchObject({ code: 'empty_prompt' });
    await expect(run.id).rejects.toMatchObject({ code: 'empty_prompt' });
  });

  it('works also by what is put around it, and by a part that is taken off it', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }));
    const run = session.prompt('Hi.');
    const { text } = await run.result;
    const whole = await eventsOf(run);
    expect((await new Proxy(run, {}).result).text).toBe(text);
    expect(await eventsOf(new Proxy(run, {}))).toEqual(whole);
    const { next } = run[Symbol.asyncIterator]();
    expect(await next()).toEqual({ done: false, value: whole[0] });
    const fold = runResultFold(await run.id);
    whole.filter(isDurable).forEach(fold.take);
    const { result } = fold;
    expect(result().text).toBe(text);
  });
});
