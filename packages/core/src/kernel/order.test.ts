import { describe, expect, it } from 'vitest';
import { scriptedModel, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  memoryJournal,
  type Run,
  type TreadleEvent,
} from '../index.ts';

const echo = defineTool({
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => text,
});

async function eventsOf(run: Run): Promise<TreadleEvent[]> {
  const events: TreadleEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

async function play(turns: readonly (Turn | string)[]): Promise<TreadleEvent[]> {
  const session = await createSession(defineAgent({ model: scriptedModel(turns), tools: [echo] }));
  return eventsOf(session.prompt('Go.'));
}

const types = (events: readonly TreadleEvent[]): string[] => events.map(({ type }) => type);

describe('the order of events', () => {
  it('opens the run, then the turn, then says what the user said', async () => {
    const events = await play(['Hello.']);
    expect(types(events)).toEqual([
      'drive_started',
      'input_received',
      'run_started',
      'turn_started',
      'message_added',
      'message_started',
      'message_delta',
      'message_added',
      'turn_ended',
      'run_ended',
    ]);
  });

  it('starts and ends every call inside its turn, after the message that asked for it', async () => {
    const call = { name: 'echo', arguments: { text: 'x' } };
    const events = await play([{ toolCalls: [call, call] }, 'Done.']);
    expect(types(events.filter(isDurable)).slice(3)).toEqual([
      'turn_started',
      'message_added',
      'message_added',
      'tool_started',
      'tool_started',
      'tool_ended',
      'tool_ended',
      'turn_ended',
      'turn_started',
      'message_added',
      'turn_ended',
      'run_ended',
    ]);
  });

  it('numbers durable events without gaps and places live events after one of them', async () => {
    const events = await play([
      { text: 'Thinking about it.', toolCalls: [{ name: 'echo', arguments: { text: 'x' } }] },
      'Done.',
    ]);
    // The session's own first event came before the run.
    let last = 1;
    for (const event of events) {
      if (isDurable(event)) {
        expect(event.seq).toBe(last + 1);
        last = event.seq;
      } else expect(event.afterSeq).toBe(last);
    }
  });

  it('tells of a durable event only once it is in the log', async () => {
    const journal = memoryJournal();
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
    const early: number[] = [];
    const checks: Promise<void>[] = [];
    session.subscribe((event) => {
      if (!isDurable(event)) return;
      checks.push(
        (async () => {
          let last = 0;
          for await (const { seq } of journal.read(session.id, 1)) last = seq;
          if (last < event.seq) early.push(event.seq);
        })(),
      );
    });
    await session.prompt('Go.').result;
    await Promise.all(checks);
    expect(checks.length).toBeGreaterThan(5);
    expect(early).toEqual([]);
  });

  it('says how far each delta is into its block', async () => {
    const events = await play([{ text: 'abcdefghijkl', chunkSize: 5 }]);
    const deltas = events.flatMap((event) => (event.type === 'message_delta' ? [[event.offset, event.text]] : []));
    expect(deltas).toEqual([
      [0, 'abcde'],
      [5, 'fghij'],
      [10, 'kl'],
    ]);
  });

  it('shows the arguments parsed so far with every delta of a call', async () => {
    const session = await createSession(
      defineAgent({
        model: scriptedModel([{ toolCalls: [{ name: 'echo', arguments: { text: 'abcdef' } }], chunkSize: 4 }, 'Done.']),
        tools: [echo],
      }),
    );
    const seen: string[] = [];
    for await (const event of session.prompt('Go.')) {
      if (event.type === 'message_delta' && event.kind === 'tool_arguments') seen.push(JSON.stringify(event.partial));
    }
    expect(seen.at(-1)).toBe('{"text":"abcdef"}');
    expect(seen.slice(0, -1).some((value) => value?.startsWith('{"text":"'))).toBe(true);
  });

  it('names what caused each turn: the user first, then the loop itself', async () => {
    const events = await play([{ toolCalls: [{ name: 'echo', arguments: { text: 'x' } }] }, 'Done.']);
    const started = events.filter((event) => event.type === 'turn_started');
    expect(started.map(({ turnIndex, triggeredBy }) => [turnIndex, triggeredBy])).toEqual([
      [0, 'user'],
      [1, 'continuation'],
    ]);
  });

  it('records the agent, the configuration, the metadata and the kind of continuation with the run', async () => {
    const agent = defineAgent({ id: 'clerk', model: scriptedModel(['Hello.']), tools: [echo], temperature: 0.5 });
    const session = await createSession(agent, { id: 's1' });
    const events = await eventsOf(session.prompt('Go.', { metadata: { ticket: 7 } }));
    expect(events.find(({ type }) => type === 'run_started')).toMatchObject({
      runId: 's1.scripted.scripted.1',
      agentId: 'clerk',
      metadata: { ticket: 7 },
      continuation: { kind: 'initial' },
      config: { provider: 'scripted', model: 'scripted', temperature: 0.5, tools: ['echo'], limits: { maxTurns: 50 } },
    });
  });
});

describe('continuations', () => {
  it.each([
    [{ kind: 'default' } as const, 'continuation'],
    [{ kind: 'rerun', tag: '2026-01-01T00:00:00Z' } as const, 'continuation'],
    [{ kind: 'branch', tag: '2026-01-01T00:00:00Z' } as const, 'branch'],
  ])('of kind %o trigger their first turn by it and name the run before', async (continuation, triggeredBy) => {
    const session = await createSession(
      defineAgent({ model: scriptedModel([{ error: { status: 500 } }, 'Better.']), retry: { maxRetries: 0 } }),
      { id: 's1' },
    );
    await session.prompt('Go.').result;
    const events = await eventsOf(session.continue({ continuation }));
    expect(events.find(({ type }) => type === 'run_started')).toMatchObject({
      continuation,
      parentRunId: 's1.scripted.scripted.1',
      runId: 's1.scripted.scripted.2',
    });
    expect(events.find(({ type }) => type === 'turn_started')).toMatchObject({ triggeredBy });
  });
});
