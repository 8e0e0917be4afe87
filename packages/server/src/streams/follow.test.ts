import { createSession, defineAgent, defineTool, memoryJournal, type TreadleEvent } from '@treadle/core';
import type { LiveFeed } from '@treadle/core/ports';
import { scriptedModel } from '@treadle/testing';
import { expect, it } from 'vitest';
import { followSession } from './follow.ts';

const TEXT = 'A reply of several pieces, one after the other.';

async function world() {
  const held = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const show = defineTool({
    name: 'show',
    description: 'Shows something once.',
    async execute(_, { update }) {
      update('shown once');
      started.resolve();
      await held.promise;
      return 'over';
    },
  });
  const model = scriptedModel([{ text: TEXT, toolCalls: [{ name: 'show' }] }, 'Done.'], { chunkSize: 5 });
  const journal = memoryJournal();
  const session = await createSession(defineAgent({ model, tools: [show] }), { journal });
  const live: LiveFeed = {
    subscribe: (_, tell) => session.subscribe(tell),
    openMessage: () => session.openMessage(),
  };
  const ended = new AbortController();
  const follow = async (until: (event: TreadleEvent) => boolean): Promise<TreadleEvent[]> => {
    const all: TreadleEvent[] = [];
    for await (const event of followSession({ sessionId: session.id, journal, live, signal: ended.signal })) {
      all.push(event);
      if (until(event)) break;
    }
    return all;
  };
  return { session, journal, live, held, started, follow, ended };
}

const isEnd = ({ type }: TreadleEvent): boolean => type === 'run_ended';
const textOf = (events: readonly TreadleEvent[]): string =>
  events.map((event) => (event.type === 'message_delta' && event.kind === 'text' ? event.text : '')).join('');

it('has each event of the log once and in order, and the text before the message', async () => {
  const { session, held, follow } = await world();
  const all = follow(isEnd);
  held.resolve();
  await session.prompt('Go.').result;
  const events = await all;
  const seqs = events.flatMap((event) => ('seq' in event ? [event.seq] : []));
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(textOf(events)).toBe(`${TEXT}Done.`);
  const place = (is: (event: TreadleEvent) => boolean): number => events.findIndex(is);
  expect(place(({ type }) => type === 'message_delta')).toBeLessThan(
    place((event) => event.type === 'message_added' && event.message.role === 'assistant'),
  );
});

it('tells what a tool has shown while the log was read', async () => {
  const { session, journal, live, held, started, ended } = await world();
  // Live events come at once, and the log a moment later, as from another process.
  const slow = {
    ...journal,
    watch: (id: string, grew: (seq: number) => void) => journal.watch(id, (seq) => setTimeout(() => grew(seq), 20)),
  };
  const early: LiveFeed = {
    ...live,
    subscribe(id, tell) {
      return live.subscribe(id, (event) => void ('seq' in event || tell(event)));
    },
  };
  const shown = (async () => {
    const options = { sessionId: session.id, journal: slow, live: early, signal: ended.signal };
    for await (const event of followSession(options)) if (event.type === 'tool_update') return event.content;
    return null;
  })();
  const run = session.prompt('Go.');
  await started.promise;
  expect(await shown).toEqual([{ type: 'text', text: 'shown once' }]);
  held.resolve();
  await run.result;
  ended.abort();
});

it('tells nothing of a tool that has ended meanwhile', async () => {
  const { session, journal, live, held, started, ended } = await world();
  held.resolve();
  await session.prompt('Go.').result;
  await started.promise;
  // A reader of another process: what was shown comes while the log is read, which has the end already.
  const log: TreadleEvent[] = [];
  for await (const event of journal.read(session.id, 1)) log.push(event);
  const call = log.find((event) => event.type === 'tool_started');
  if (call?.type !== 'tool_started') throw new Error('No tool was started.');
  const { seq, runId, turnIndex, callId, toolName } = call;
  const content = [{ type: 'text', text: 'shown once' }] as const;
  const update = { type: 'tool_update', afterSeq: seq, runId, turnIndex, callId, toolName, content } as const;
  const gate = Promise.withResolvers<void>();
  let reads = 0;
  let tell = (_: TreadleEvent): void => {};
  let grew = (_: number): void => {};
  const behind = {
    ...journal,
    async *read(id: string, from: number) {
      reads += 1;
      // At first it has the beginning only.
      for await (const event of journal.read(id, from)) {
        if (reads < 2 && event.seq > seq) return;
        if (event.seq > seq) await gate.promise;
        yield event;
      }
    },
    watch(_: string, tellOf: (seq: number) => void) {
      grew = tellOf;
      return () => {};
    },
  };
  const early: LiveFeed = {
    ...live,
    subscribe(_, listener) {
      tell = listener;
      return () => {};
    },
  };
  const types: string[] = [];
  const options = { sessionId: session.id, journal: behind, live: early, signal: ended.signal };
  for await (const event of followSession(options)) {
    types.push(event.type);
    if (event.type === 'tool_started') {
      setTimeout(() => {
        grew(log.length);
        setTimeout(() => {
          tell(update);
          gate.resolve();
        }, 10);
      }, 10);
    }
    if (event.type === 'run_ended') setTimeout(() => ended.abort(), 20);
  }
  expect(types).toContain('tool_ended');
  expect(types).not.toContain('tool_update');
});

it('ends when it is told to', async () => {
  const { follow, ended } = await world();
  const all = follow(() => false);
  setTimeout(() => ended.abort(), 10);
  expect((await all).map(({ type }) => type)).toEqual(['session_created']);
});
