import assert from 'node:assert/strict';
import {
  defineTool,
  memoryLedger,
  type DurableEvent,
  type Journal,
  type Ledger,
  type Memory,
  type Model,
  type Tool,
  type Usage,
} from '@treadle/core';
import type { FinishedRun } from '@treadle/core/features';
import type { ModelRequest } from '@treadle/core/model';
import { scriptedModel } from '../scripted-model.ts';
import { transientMemory, type TransientMemory } from '../transient-memory.ts';
import type { Turn } from '../turns.ts';
import type { CrashLife, CrashWorld } from './life.ts';

/** What is outside the processes of a course, and remembers what they did to it. */
export interface World {
  /** How often each tool had its effect, and under which keys. */
  readonly effects: Map<string, string[]>;
  readonly ledger: Ledger;
  readonly memory: TransientMemory;
  /** US dollars of the replies that were heard to their end. */
  spent: number;
  /** Somebody else's way into the session. */
  readonly outside: Journal;
  /** What was done that must not be, such as asking again what is known. */
  readonly wrongs: string[];
}

/** US dollars in the world's ledger. */
const LEDGER_LIMIT = 20;

export const newWorld = (outside: Journal): World => ({
  effects: new Map(),
  ledger: memoryLedger(LEDGER_LIMIT),
  memory: transientMemory(),
  spent: 0,
  outside,
  wrongs: [],
});

/** The world as processes ask it. */
export const worldOf = (world: World, sessionId: string): CrashWorld => ({
  act(name: string, key: string) {
    world.effects.set(name, [...(world.effects.get(name) ?? []), key]);
  },
  say: (type: 'steering' | 'follow_up', text: string) => say(world, sessionId, type, text),
  wrong: (text: string) => void world.wrongs.push(text),
  spend(cost: number) {
    world.spent += cost;
  },
  reserve: (id: string, worstCase: number) => world.ledger.reserve(id, worstCase),
  settle: (id: string, cost: number) => world.ledger.settle(id, cost),
  release: (id: string) => world.ledger.release(id),
  balance: () => world.ledger.balance(),
  raise: (limit: number) => world.ledger.raise(limit),
  remember: (run: FinishedRun) => world.memory.update(run),
});

const costOf = ({ input, output }: Usage): number => ((input ?? 0) + (output ?? 0)) / 10_000;

/** What somebody who isn't the session's process says to it, once, whoever makes them say it. */
const say = (world: World, sessionId: string, type: 'steering' | 'follow_up', text: string): Promise<unknown> =>
  world.outside.post(sessionId, { type, message: { content: [{ type: 'text', text }] } }, `said:${text}`, 1);

const toolNames = ['look', 'charge', 'deploy', 'pick', 'write', 'read'] as const;
type ToolName = (typeof toolNames)[number];

/** The tools of one process. What they do to the world they do between two moments at which it may die. */
export function toolsOf(life: CrashLife): Tool[] {
  const act = (name: ToolName, key: string, result: string, also?: () => Promise<unknown>): Promise<string> => {
    const begun = [...life.acknowledged.values()].findLast(
      (event) => event.type === 'tool_started' && event.idempotencyKey === key,
    );
    if (!begun) tellWrong(life, `${name} acts before its start is in the log`);
    return life.effect(name, async () => {
      await life.ask('act', name, key);
      await also?.();
      return result;
    });
  };
  const simple = { type: 'object', properties: {} } as const;
  return [
    defineTool({
      name: 'look',
      description: 'Looks.',
      readOnly: true,
      execute: (_, { idempotencyKey }) =>
        act('look', idempotencyKey, 'all is well; '.repeat(150), () => life.ask('say', 'steering', 'Be careful.')),
    }),
    defineTool({
      name: 'charge',
      description: 'Charges a card.',
      replay: 'never',
      execute: (_, { idempotencyKey }) => act('charge', idempotencyKey, 'charged'),
    }),
    defineTool({
      name: 'deploy',
      description: 'Deploys.',
      replay: 'ask',
      execute: (_, { idempotencyKey }) => act('deploy', idempotencyKey, 'deployed'),
    }),
    defineTool({ name: 'pick', description: 'Asks for a colour.', runs: 'client', inputSchema: simple }),
    defineTool({
      name: 'write',
      description: 'Writes a file.',
      replay: 'safe',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      access: ({ path }) => ({ folder: '/work', paths: [{ path: `/work/${path}`, write: true }], edits: true }),
      execute: ({ path }, { idempotencyKey }) => act('write', idempotencyKey, `wrote ${path}`),
    }),
    defineTool({
      name: 'read',
      description: 'Reads much.',
      readOnly: true,
      execute: (_, { idempotencyKey }) =>
        act('read', idempotencyKey, 'it says much; '.repeat(160), () => life.ask('say', 'follow_up', 'Wrap it up.')),
    }),
  ];
}

const isSummaryWanted = ({ messages }: ModelRequest): boolean => {
  const last = messages.at(-1);
  return last?.role === 'user' && last.origin === 'compaction' && last.removed === undefined;
};

/** About as many tokens as a provider would count, and fewer than are estimated. */
const usageOf = ({ messages }: ModelRequest): Partial<Usage> => ({
  input: Math.ceil(JSON.stringify(messages).length / 4.5),
});

/** Says what comes next from what it is sent, so that any process goes on where another one died. */
function reply(request: ModelRequest): Turn {
  return { usage: usageOf(request), ...(isSummaryWanted(request) ? { text: 'Much was done.' } : nextTurn(request)) };
}

function nextTurn({ messages }: ModelRequest): Turn {
  const last = messages.findLast((message) => message.role === 'tool');
  if (last === undefined) {
    return { text: 'I begin.', toolCalls: ['look', 'charge', 'deploy', 'pick'].map((name) => ({ name })) };
  }
  if (last.toolName === 'pick') return { toolCalls: [{ name: 'write', arguments: { path: 'draft' } }] };
  if (last.toolName === 'write') return { text: 'I read it.', toolCalls: [{ name: 'read' }] };
  const said = messages.findLast(
    (message) => message.role === 'user' && (message.origin === 'follow_up' || message.origin === 'check'),
  );
  if (said?.role !== 'user') return { text: 'Almost.' };
  return { text: said.origin === 'check' ? 'Final.' : 'Draft.' };
}

/** The model of one process, which may die before it asks, while it hears the reply, and before it writes it down. */
export function modelOf(life: CrashLife): Model {
  const scripted = scriptedModel(reply, { cost: costOf, contextWindow: 2300, chunkSize: 4 });
  return {
    ...scripted,
    async *stream(request, signal) {
      await life.pass('before the model is asked');
      let deltas = 0;
      for await (const event of scripted.stream(request, signal)) {
        if (event.type === 'text_delta' && ++deltas === 2) await life.pass('amid a reply');
        if (event.type === 'finish') {
          await life.ask('spend', costOf(event.usage));
          await life.pass('after a reply');
        }
        yield event;
      }
    },
  };
}

/** Notes what must not be, where it is seen. */
export const tellWrong = (life: CrashLife, what: string): void => void life.ask('wrong', what).catch(() => {});

/** Notes when something is asked that the log has an answer to. */
export function neverAgain(life: CrashLife, about: string, isAnswer: (key: string) => boolean): void {
  for (const event of life.acknowledged.values()) {
    if (event.type === 'decision_made' && isAnswer(event.key)) tellWrong(life, `${about} was asked again`);
  }
}

const ask = <Value>(life: CrashLife, name: string, ...args: readonly unknown[]): Promise<Value> =>
  life.ask(name, ...args) as Promise<Value>;

/** The ledger as one process reaches it. */
export function ledgerOf(life: CrashLife): Ledger {
  return {
    reserve(id, worstCase) {
      neverAgain(life, `the money for ${id}`, (key) => key === id);
      return life.effect('a reservation', () =>
        ask<Awaited<ReturnType<Ledger['reserve']>>>(life, 'reserve', id, worstCase),
      );
    },
    settle: (id, cost) => life.effect('a settlement', () => ask(life, 'settle', id, cost)),
    release: (id) => life.effect('a release', () => ask(life, 'release', id)),
    balance: () => ask(life, 'balance'),
    raise: (limit) => ask(life, 'raise', limit),
  };
}

/** The memory as one process reaches it. */
export function memoryOf(life: CrashLife): Memory {
  return {
    async retrieve() {
      neverAgain(life, 'the memory', (key) => key.startsWith('memory:'));
      return life.effect('a retrieval', () => ['The card is on file. '.repeat(120)]);
    },
    async update(run) {
      neverAgain(life, `the update of ${run.runId}`, (key) => key.startsWith('memory_update:'));
      await life.effect('an update', () => ask(life, 'remember', run));
    },
  };
}

/** What the tools did, and what the ledger has, whatever died on the way. */
export async function checkWorld(world: World, log: readonly DurableEvent[], deaths: number): Promise<void> {
  assert.deepEqual(world.wrongs, []);
  const often = (name: ToolName): number => world.effects.get(name)?.length ?? 0;
  const unknown = log.filter((event) => event.type === 'tool_call_rejected');
  assert.ok(unknown.length <= (deaths === 0 ? 0 : 1), 'only the call that was in doubt has no result of its own');
  for (const { reason, toolName } of unknown) assert.deepEqual([reason, toolName], ['in_doubt', 'charge']);
  const approvals = log.filter((event) => event.type === 'approval_answered').length;
  assert.ok(often('charge') <= 1, 'what may never run twice did');
  assert.ok(often('charge') === 1 || unknown.length === 1, 'what was not done is said to be done');
  for (const name of ['look', 'write', 'read'] as const) {
    assert.ok(often(name) >= 1 && often(name) <= 1 + deaths, `${name} ran ${often(name)} times`);
  }
  // One of the approvals is for the write.
  assert.ok(often('deploy') >= 1 && often('deploy') <= approvals, `deploy ran ${often('deploy')} times`);
  for (const [name, keys] of world.effects) assert.equal(new Set(keys).size, 1, `${name} ran under two keys`);
  const { reserved, spent } = await world.ledger.balance();
  assert.equal(reserved, 0, 'money is still set aside');
  assert.ok(spent <= LEDGER_LIMIT, 'the ledger is overdrawn');
  assert.ok(spent >= world.spent - 1e-6, `$${world.spent} were spent, and the ledger has $${spent}`);
}
