import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { countingIds, crashMatrix, everythingScenario, logOf, scriptedModel } from '@treadle/testing';
import { upToDate } from '../journal/up-to-date.ts';
import { reduce, initialState } from '../kernel/reduce.ts';
import type { RunState, SessionState } from '../kernel/state.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  type Agent,
  type Clock,
  type DurableEvent,
  type JsonValue,
  type Session,
} from '../index.ts';

// Logs as versions of this package wrote them, with what was read from them then. They are never written again.

const folder = new URL('corpus/', import.meta.url);

/** The names of the logs, such as `v1-paused`. */
export const corpusNames = (): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => file.slice(0, -'.jsonl'.length))
    .toSorted();

export const corpusLog = (name: string): DurableEvent[] =>
  readFileSync(new URL(`${name}.jsonl`, folder), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => upToDate(JSON.parse(line) as DurableEvent));

export const corpusSummary = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`${name}.state.json`, folder), 'utf8'));

/** Adds a log to the corpus. One of the name must not be there. */
export function addToCorpus(name: string, log: readonly DurableEvent[]): void {
  const lines = log.map((event) => `${JSON.stringify(event)}\n`).join('');
  writeFileSync(new URL(`${name}.jsonl`, folder), lines, { flag: 'wx' });
  const summary = `${JSON.stringify(summaryOf(foldLog(log)), null, 2)}\n`;
  writeFileSync(new URL(`${name}.state.json`, folder), summary, { flag: 'wx' });
}

export function foldLog(log: readonly DurableEvent[]): SessionState {
  const [first] = log;
  if (first?.type !== 'session_created') throw new Error('A log starts with session_created.');
  return log.reduce((state, event) => reduce(state, event), initialState(first.sessionId));
}

/** What a log means, in words that stay when the state's own fields change. */
export function summaryOf(state: SessionState): JsonValue {
  const summary = {
    seq: state.seq,
    epoch: state.epoch,
    view: state.view.map((message) => ({
      role: message.role,
      ...(message.role === 'user' ? { origin: message.origin } : {}),
      ...(message.role === 'tool' ? { callId: message.callId, isError: message.isError } : {}),
      ...(message.role === 'extension'
        ? {}
        : { content: message.content.map((block) => (block.type === 'text' ? block.text : block.type)) }),
    })),
    waiting: state.inbox.map(({ seq, input }) => `${seq} ${input.type}`),
    runs: Object.fromEntries(state.ordinals),
    lastRunId: state.lastRunId,
    decided: [...state.decisions.keys()],
    permissions: state.permissions,
    settled: state.settled,
    run: state.run && runSummary(state.run),
  };
  return JSON.parse(JSON.stringify(summary)) as JsonValue;
}

const runSummary = ({ runId, inputSeq, turns, usage, cost, paused, limits, turn }: RunState): unknown => ({
  runId,
  inputSeq,
  turns,
  usage,
  cost,
  paused,
  toolCalls: limits.toolCalls,
  spent: limits.spent,
  turn: turn && {
    index: turn.index,
    attempt: turn.attempt,
    calls: turn.calls.map((call) => ({
      callId: call.callId,
      name: call.name,
      arguments: call.arguments,
      status: call.status,
      attempt: call.attempt,
      runs: call.runs,
      replay: call.replay,
      approvalId: call.approvalId,
      decision: call.decision,
    })),
  },
});

/** The logs that this version adds: a whole run, one whose process died in it, that one as the death left it, and more. */
export async function logsOfThisVersion(): Promise<Readonly<Record<string, DurableEvent[]>>> {
  const { whole, killed } = await everything();
  const death = killed.findIndex(({ seq, type }) => type === 'drive_started' && seq > 2);
  const inDoubt = killed.slice(0, death + 1);
  return { everything: whole, killed, 'in-doubt': inDoubt, paused: await paused(), conversation: await conversation() };
}

/** A run with nearly everything in it; and the same when its process died after a tool that may not run twice. */
async function everything(): Promise<{ whole: DurableEvent[]; killed: DurableEvent[] }> {
  const scenario = everythingScenario(() => {
    const journal = memoryJournal();
    return { open: async () => journal };
  });
  const logs: DurableEvent[][] = [];
  const recorded = async () => {
    const course = await scenario();
    return { ...course, outcome: (log: readonly DurableEvent[]) => void logs.push([...log]) };
  };
  const { moments } = await crashMatrix(recorded, { moments: () => false });
  const death = moments.indexOf('after charge');
  await crashMatrix(recorded, { moments: (moment) => moment === death });
  return { whole: logs[0] ?? [], killed: logs[2] ?? [] };
}

const pick = defineTool({ name: 'pick', description: 'Asks for a colour.', runs: 'client' });
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'Paid.' });

/** An agent that can go on with the log `paused`. */
export const payingAgent = (turns: Parameters<typeof scriptedModel>[0]): Agent =>
  defineAgent({ model: scriptedModel(turns), tools: [pick, pay] });

async function paused(): Promise<DurableEvent[]> {
  const { session, log } = await newSession(
    payingAgent([{ text: 'I ask.', toolCalls: [{ name: 'pick' }, { name: 'pay' }] }]),
  );
  await session.prompt('Pay for the blue one.', { metadata: { user: 'ada' }, limits: { maxTurns: 9 } }).result;
  await session.steer('Not too dear.');
  await session.followUp('And thank them.');
  return log();
}

async function conversation(): Promise<DurableEvent[]> {
  const { session, log } = await newSession(
    defineAgent({
      model: scriptedModel([
        'Hello.',
        { error: { status: 500 }, text: '' },
        { error: { status: 400, message: 'no such model' } },
        'Forgotten.',
      ]),
      retry: { maxRetries: 1 },
    }),
  );
  await session.prompt('Hi.').result;
  await session.prompt('Go on.').result;
  await session.updatePermissions([{ type: 'setMode', mode: 'plan', destination: 'session' }]);
  await session.importMessages([
    { role: 'user', origin: 'import', content: [{ type: 'text', text: 'Earlier.' }] },
    { role: 'user', origin: 'import', content: [{ type: 'text', text: 'Later.' }] },
  ]);
  await session.continue().result;
  await session.steer('For next time.');
  return log();
}

/** A second passes whenever somebody looks, and nobody waits. */
function stridingClock(): Clock {
  let now = Date.UTC(2025, 0, 1);
  return {
    now: () => (now += 1000),
    after(_, fn, options) {
      if (options?.background === true) return () => {};
      const soon = setImmediate(fn);
      return () => clearImmediate(soon);
    },
  };
}

async function newSession(agent: Agent): Promise<{ session: Session; log: () => Promise<DurableEvent[]> }> {
  const journal = memoryJournal();
  const clock = stridingClock();
  const options = { journal, clock, ids: countingIds(), id: 's1', metadata: { from: 'the corpus' } };
  const session = await createSession(agent, options);
  return { session, log: () => logOf(journal, 's1') };
}
