// @module-tag slow

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { journalOf, logOf, scriptedModel, type ScriptedToolCall, type Turn } from '@treadle/testing';
import { initialState, plan, reduce, type SessionState } from '../entries/kernel.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Agent,
  type DurableEvent,
  type Message,
  type ToolExecution,
} from '../index.ts';

// A random world: tools that succeed, fail, throw and are asked of a client; a model that calls them rightly and
// wrongly, refuses, is cut off or fails; and people who steer, follow up and cancel in between.

const TOOLS = [
  defineTool({ name: 'fine', description: 'Works.', readOnly: true, execute: async () => 'fine' }),
  defineTool({ name: 'fails', description: 'Says it failed.', execute: () => ({ content: 'no', isError: true }) }),
  defineTool({
    name: 'throws',
    description: 'Throws.',
    execute: () => {
      throw new Error('broken');
    },
  }),
  defineTool({
    name: 'alone',
    description: 'Runs alone.',
    execution: 'sequential',
    replay: 'safe',
    execute: () => 'ok',
  }),
  defineTool({ name: 'ask', description: 'Asks before it runs again.', replay: 'ask', execute: () => 'ok' }),
  defineTool({ name: 'picker', description: 'Runs at the client.', runs: 'client' }),
  defineTool({ name: 'finish', description: 'Ends.', endsRun: true, execute: () => 'the end' }),
];

const call: fc.Arbitrary<ScriptedToolCall> = fc.record(
  {
    name: fc.constantFrom(...TOOLS.map(({ name }) => name), 'unknown', '__proto__'),
    argumentsText: fc.constantFrom('{}', '', '{"a": 1}', '{"a"', '[1]', 'null'),
    providerCallId: fc.constantFrom('call_1', 'call_2', '', 'fc-0'),
  },
  { requiredKeys: ['name'] },
);

const turn: fc.Arbitrary<Turn> = fc.record(
  {
    text: fc.string({ unit: 'binary', maxLength: 20 }),
    thinking: fc.string({ maxLength: 10 }),
    toolCalls: fc.array(call, { maxLength: 4 }),
    stopReason: fc.constantFrom('stop', 'tool_use', 'length', 'refusal', 'pause', 'other'),
    error: fc.record({ kind: fc.constantFrom('network', 'api'), afterDeltas: fc.constantFrom(0, 1, Infinity) }),
    unfinished: fc.boolean(),
  },
  { requiredKeys: ['text'] },
);

const execution: fc.Arbitrary<ToolExecution> = fc.constantFrom(
  { mode: 'parallel' },
  { mode: 'parallel', concurrency: 2 },
  { mode: 'sequential' },
  { mode: 'batched', size: 2 },
);

/** What someone does when the session has told of so many events. */
const interference = fc.record({ at: fc.nat(30), what: fc.constantFrom('steer', 'followUp', 'abort') });

interface World {
  readonly turns: readonly Turn[];
  readonly toolExecution: ToolExecution;
  readonly interferences: readonly { readonly at: number; readonly what: 'steer' | 'followUp' | 'abort' }[];
}

const world: fc.Arbitrary<World> = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
  toolExecution: execution,
  interferences: fc.array(interference, { maxLength: 3 }),
});

const agentOf = ({ turns, toolExecution }: Pick<World, 'turns' | 'toolExecution'>): Agent =>
  // After its script the model only says that it is done, so that every run comes to an end.
  defineAgent({
    model: scriptedModel([...turns, ...Array.from({ length: 30 }, () => 'Done.')]),
    tools: TOOLS,
    toolExecution,
    limits: { maxTurns: 20 },
    retry: { maxRetries: 1, initialDelayMs: 0 },
  });

/** Plays a world: one prompt, with answers for whatever the run pauses for. Returns the whole log. */
async function play(made: World): Promise<{ events: DurableEvent[]; live: readonly Message[] }> {
  const journal = memoryJournal();
  const session = await createSession(agentOf(made), { journal, id: 's1' });
  let heard = 0;
  session.subscribe(() => {
    heard += 1;
    for (const { at, what } of made.interferences) {
      if (at !== heard) continue;
      if (what === 'abort') void session.abort();
      else void session[what]('Mind the gap.');
    }
  });
  await finish(session, session.prompt('Go.'));
  await session.idle();
  return { events: await logOf(journal, 's1'), live: session.messages };
}

type Session = Awaited<ReturnType<typeof createSession>>;

/** Awaits a run to its end, answering what it pauses for. */
async function finish(session: Session, run: ReturnType<Session['prompt']>): Promise<void> {
  let result = await run.result;
  while (result.status === 'paused') {
    const asked = result.pending.find(({ approvalId }) => approvalId !== undefined);
    const next =
      asked?.approvalId === undefined
        ? session.addToolOutputs(result.pending.map(({ callId }) => ({ callId, content: 'picked' })))
        : session.approve(asked.approvalId);
    result = await next.result;
  }
}

function stateOf(events: readonly DurableEvent[]): SessionState {
  const state = initialState('s1');
  for (const event of events) reduce(state, event);
  return state;
}

/** What is wrong with a conversation that is about to be sent, in the terms every provider shares. */
function problems(messages: readonly Message[]): string[] {
  const found: string[] = [];
  let waiting: string[] = [];
  const seen = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (waiting.shift() !== message.callId) found.push(`result ${message.callId} is out of place`);
      continue;
    }
    if (waiting.length > 0) found.push(`no result for ${waiting.join()}`);
    waiting = [];
    if (message.role === 'extension') continue;
    if (message.content.length === 0) found.push('an empty message');
    for (const block of message.content) {
      if (block.type !== 'tool_call') continue;
      if (seen.has(block.callId)) found.push(`call id ${block.callId} twice`);
      seen.add(block.callId);
      waiting.push(block.callId);
    }
  }
  if (waiting.length > 0) found.push(`no result for ${waiting.join()}`);
  return found;
}

describe('any run', () => {
  it(
    'ends once, answers every call once, and leaves a conversation that can be sent',
    { tags: ['share'] },
    async () => {
      await fc.assert(
        fc.asyncProperty(world, async (made) => {
          const { events, live } = await play(made);
          const count = (type: DurableEvent['type']): number => events.filter((event) => event.type === type).length;
          expect(count('run_ended')).toBe(1);
          expect(events.at(-1)?.type === 'run_ended' || count('input_received') > 1).toBe(true);
          const started = new Set(events.flatMap((event) => (event.type === 'turn_started' ? [event.turnIndex] : [])));
          expect(count('turn_ended')).toBe(started.size);
          expect(problems(live)).toEqual([]);
          expect(stateOf(events).view).toEqual(live);
        }),
        { numRuns: 500 },
      );
    },
  );

  it('cut off after any event has a next step, and goes on to an end with a valid conversation', async () => {
    await fc.assert(
      fc.asyncProperty(world, fc.infiniteStream(turn), async (made, later) => {
        const { events } = await play(made);
        for (let length = 1; length <= events.length; length++) {
          const prefix = events.slice(0, length);
          expect(plan(stateOf(prefix), agentOf(made), Date.now()).type).toBeTypeOf('string');
          const journal = await journalOf(prefix);
          const model = scriptedModel([...[...later.take(2)], ...Array.from({ length: 20 }, () => 'Done.')]);
          const agent = defineAgent({
            model,
            tools: TOOLS,
            toolExecution: made.toolExecution,
            retry: { initialDelayMs: 0 },
          });
          const session = await openSession(agent, 's1', { journal });
          if (session.status !== 'idle') await finish(session, session.resume());
          const run = session.prompt('And now?');
          await finish(session, run);
          expect((await run.result).runId).toBe(await run.id);
          for (const request of model.requests) expect(problems(request.messages)).toEqual([]);
          expect(problems(session.messages)).toEqual([]);
          const log = await logOf(journal, 's1');
          expect(log.slice(0, length)).toEqual(prefix);
          // Every prompt that was acknowledged became a run.
          const begun = new Set(log.flatMap((event) => (event.type === 'run_started' ? [event.inputSeq] : [])));
          const prompts = log.filter((event) => event.type === 'input_received' && event.input.type === 'prompt');
          expect(prompts.map(({ seq }) => begun.has(seq))).toEqual(prompts.map(() => true));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('runs no call twice that must not be, wherever it is cut off', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (made) => {
        const { events } = await play(made);
        for (let length = 1; length <= events.length; length++) {
          const journal = await journalOf(events.slice(0, length));
          const session = await openSession(agentOf({ ...made, turns: [] }), 's1', { journal });
          if (session.status !== 'idle') await finish(session, session.resume());
          const starts = new Map<string, number>();
          for (const event of await logOf(journal, 's1')) {
            if (event.type !== 'tool_started' || event.replay !== 'never') continue;
            starts.set(event.callId, (starts.get(event.callId) ?? 0) + 1);
          }
          expect([...starts.values()].filter((times) => times > 1)).toEqual([]);
        }
      }),
      { numRuns: 100 },
    );
  });
});
