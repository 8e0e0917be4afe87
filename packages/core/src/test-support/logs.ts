import fc from 'fast-check';
import {
  countingIds,
  logOf,
  scriptedModel,
  transientMemory,
  type ScriptedModelOptions,
  type Turn,
} from '@treadle/testing';
import { EVENT_VERSION } from '../entries/events.ts';
import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  openSession,
  pruneOldest,
  type AgentDefinition,
  type DurableEvent,
  type Journal,
  type Session,
  type UserContent,
} from '../index.ts';
import { explorer, look } from './long-run.ts';

// Logs of all the courses a session can take, as sessions write them.

const TOOLS = [
  defineTool({ name: 'read', description: 'Reads.', readOnly: true, execute: () => 'a line' }),
  defineTool({
    name: 'fail',
    description: 'Fails.',
    execute: () => {
      throw new Error('No such thing.');
    },
  }),
  defineTool({ name: 'write', description: 'Writes.', execute: () => 'written', approval: 'always' }),
  defineTool({ name: 'pick', description: 'Runs at the client.', runs: 'client' }),
  defineTool({
    name: 'wonder',
    description: 'Asks a person in the middle of its work.',
    execute: (_, { answers = [] }) =>
      answers.length > 0
        ? `told ${answers.length}`
        : { content: 'nobody', isError: true, ask: { key: 'why', question: 'Why?', state: { step: 1 } } },
  }),
];

const COUNTED = { input: 100, output: 10, cacheRead: 40, cacheWrite: 0, reasoning: null };

/** Every turn is counted and costs a cent a token of output. */
const counted = (turn: Turn | string): Turn => ({
  usage: COUNTED,
  ...(typeof turn === 'string' ? { text: turn } : turn),
});
const CENT: ScriptedModelOptions = { cost: ({ output }) => (output === null ? null : output / 100) };

export interface Play {
  readonly turns?: readonly (Turn | string)[];
  /** A function where the definition has state: each log then begins with a new one. */
  readonly agent?: Partial<AgentDefinition> | (() => Partial<AgentDefinition>);
  readonly act: (session: Session, journal: Journal) => Promise<unknown>;
}

/** A session that somebody acts on, and its log. */
export async function playLog({ turns = [], agent = {}, act }: Play): Promise<DurableEvent[]> {
  const journal = memoryJournal();
  const definition = {
    model: scriptedModel(turns.map(counted), CENT),
    tools: TOOLS,
    ...(typeof agent === 'function' ? agent() : agent),
  };
  const session = await createSession(defineAgent({ retry: { initialDelayMs: 0 }, ...definition }), {
    journal,
    id: 's1',
    ids: countingIds(),
    metadata: { from: 'a test' },
  });
  await act(session, journal);
  await session.idle();
  return logOf(journal, 's1');
}

const ask = (session: Session, text: string) => session.prompt(text).result;

const calls = (...names: readonly string[]): Turn => ({
  text: 'Let me see.',
  toolCalls: names.map((name) => ({ name, arguments: { path: 'a.txt' } })),
});

/** One that is cancelled when its first words have been heard. */
async function cancelled(session: Session): Promise<void> {
  const run = session.prompt('Go.');
  for await (const event of run) if (event.type === 'message_delta') await run.abort('Enough.');
}

const secretFilter = (text: string) =>
  text.includes('secret') ? ({ verdict: 'reject', reason: 'No secrets.' } as const) : ({ verdict: 'pass' } as const);

async function steered(session: Session, said: string): Promise<void> {
  const run = session.prompt('Go.');
  for await (const event of run) if (event.type === 'turn_started' && event.turnIndex === 0) await session.steer(said);
}

const error = { kind: 'network', message: 'Reset.', retryable: true } as const;
const image: UserContent = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' };

const PLAYS: Readonly<Record<string, Play>> = {
  plain: { turns: ['Hello.'], act: (session) => ask(session, 'Hi') },
  images: {
    turns: ['A picture.'],
    act: (session) => session.prompt([{ type: 'text', text: 'What is it?' }, image]).result,
  },
  tools: {
    turns: [calls('read', 'fail', 'nothing', 'read'), { thinking: 'Hm.', text: 'Done.' }],
    act: (session) => ask(session, 'Look.'),
  },
  cancelled: {
    turns: [{ text: 'On and on', waitAfter: { deltas: 1, until: new Promise(() => {}) } }],
    act: cancelled,
  },
  'rejected by a hook': {
    agent: { hooks: [defineHook('before_run', () => ({ decision: 'deny', reason: 'Closed.' }))] },
    act: (session) => session.prompt('Hi', { metadata: { request: 1 } }).result,
  },
  'rejected by a filter, in the middle': {
    turns: [calls('read'), 'Never said.'],
    agent: { inputGuardrails: [secretFilter] },
    act: (session) => steered(session, 'A secret.'),
  },
  'rewritten by a hook': {
    turns: [calls('read', 'read'), 'Done.'],
    agent: { hooks: [defineHook('after_tool', () => ({ output: 'something longer instead' }))] },
    act: (session) => ask(session, 'Look.'),
  },
  closed: {
    turns: [calls('read'), 'So far so good.'],
    agent: { limits: { maxTurns: 1 }, wrapUp: true },
    act: (session) => ask(session, 'Look.'),
  },
  steered: { turns: [calls('read'), 'All right.'], act: (session) => steered(session, 'Shorter.') },
  limited: {
    turns: [calls('read'), calls('read'), calls('read')],
    agent: { limits: { maxTurns: 2 } },
    act: (session) => ask(session, 'Look.'),
  },
  paused: { turns: [calls('read', 'pick')], act: (session) => ask(session, 'Pick.') },
  resumed: {
    turns: [calls('read', 'pick'), 'Picked.'],
    act: async (session) => {
      const { pending } = await ask(session, 'Pick.');
      await session.addToolOutputs(pending.map(({ callId }) => ({ callId, content: 'the red one' }))).result;
    },
  },
  asked: {
    turns: [calls('wonder', 'read'), 'Done.'],
    act: async (session) => {
      const { pending } = await session.prompt('Wonder.').result;
      await session.approve(pending[0]?.approvalId ?? '', { updatedInput: { because: 'so' } }).result;
    },
  },
  unanswered: { turns: [calls('wonder')], act: (session) => session.prompt('Wonder.').result },
  approved: {
    turns: [calls('write'), 'Written.'],
    act: async (session) => {
      const { pending } = await ask(session, 'Write.');
      await session.approve(pending[0]?.approvalId ?? '').result;
    },
  },
  denied: {
    turns: [calls('write'), 'I may not.'],
    act: async (session) => {
      const { pending } = await ask(session, 'Write.');
      await session.reject(pending[0]?.approvalId ?? '', 'Not today.').result;
    },
  },
  compacted: {
    agent: {
      model: explorer(12),
      tools: [look],
      context: { window: 2500, strategy: pruneOldest() },
    },
    act: (session) => ask(session, 'Explore.'),
  },
  summarised: {
    agent: {
      model: explorer(12, { text: 'All was well.', usage: COUNTED }, CENT),
      tools: [look],
      context: { window: 4000 },
    },
    act: (session) => ask(session, 'Explore.'),
  },
  'failed and tried again': {
    turns: [{ error }, { text: 'Half', error: { ...error, afterDeltas: 1 } }, 'Whole.'],
    agent: { retry: { initialDelayMs: 0, afterText: true } },
    act: (session) => ask(session, 'Hi'),
  },
  failed: {
    turns: [{ text: 'Half', error: { ...error, retryable: false, afterDeltas: 1 } }],
    act: (session) => ask(session, 'Hi'),
  },
  continued: {
    turns: [{ error: { ...error, retryable: false } }, 'Better.', 'Hello.'],
    act: async (session) => {
      await ask(session, 'Hi');
      await session.continue({ continuation: { kind: 'rerun', tag: '2026-03-01T09:30:00Z' } }).result;
      await ask(session, 'Again.');
    },
  },
  checked: {
    turns: ['Wrong.', 'Right.'],
    agent: () => ({
      outputGuardrails: [(text) => (text === 'Right.' ? { ok: true } : { ok: false, message: 'Look again.' })],
      memory: transientMemory(),
    }),
    act: (session) => ask(session, 'Hi'),
  },
  imported: {
    turns: ['Hello.', 'Hello again.', 'New.'],
    act: async (session) => {
      await ask(session, 'Hi');
      const messages = session.exportMessages();
      await session.reset();
      await session.importMessages(messages);
      await ask(session, 'Go on.');
    },
  },
  forked: {
    turns: ['Hello.', 'In the parent.'],
    act: async (session) => {
      await ask(session, 'Hi');
      await ask(session, 'And now?');
    },
  },
};

/** A session that goes on from another's first run. */
async function forkedLog(): Promise<DurableEvent[]> {
  const journal = memoryJournal();
  const agent = defineAgent({ model: scriptedModel(['Hello.', 'In the fork.'].map(counted), CENT), tools: TOOLS });
  const ids = countingIds();
  const parent = await createSession(agent, { journal, id: 's1', ids });
  await parent.prompt('Hi').result;
  const { length: seq } = await logOf(journal, 's1');
  const fork = { sessionId: 's1', seq };
  const created = {
    type: 'session_created',
    at: Date.now(),
    eventVersion: EVENT_VERSION,
    sessionId: 's2',
    fork,
  } as const;
  await journal.create('s2', created, fork);
  const child = await openSession(agent, 's2', { journal, ids });
  await child.prompt('And now?').result;
  return logOf(journal, 's2');
}

/** A log of each course, by its name. */
export async function logsOfAllKinds(): Promise<ReadonlyMap<string, readonly DurableEvent[]>> {
  const logs = new Map<string, readonly DurableEvent[]>();
  for (const [name, play] of Object.entries(PLAYS)) {
    logs.set(name, name === 'forked' ? await forkedLog() : await playLog(play));
  }
  return logs;
}

const anyTurn: fc.Arbitrary<Turn> = fc.record(
  {
    text: fc.constantFrom('', 'Well.', '```'),
    thinking: fc.constantFrom('Hm.', ''),
    toolCalls: fc.array(
      fc.constantFrom('read', 'fail', 'write', 'pick', 'wonder', 'nothing').map((name) => ({ name })),
      {
        maxLength: 3,
      },
    ),
    stopReason: fc.constantFrom('stop', 'tool_use', 'length', 'refusal', 'pause'),
    error: fc.record({ kind: fc.constantFrom('network', 'api'), afterDeltas: fc.constantFrom(0, 1, Infinity) }),
    usage: fc.constantFrom(null, COUNTED),
  },
  { requiredKeys: ['text'] },
);

/** What somebody does at the session's nth event. */
const anyAct = fc.record({ at: fc.nat(25), what: fc.constantFrom('steer', 'followUp', 'abort') });

/** The log of any session: some prompts, a model that does anything, and people who break in. */
export const anyLog: fc.Arbitrary<Promise<DurableEvent[]>> = fc
  .record({
    turns: fc.array(anyTurn, { maxLength: 6 }),
    acts: fc.array(anyAct, { maxLength: 2 }),
    prompts: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ turns, acts, prompts }) => {
    const later = Array.from({ length: 40 }, () => 'Done.');
    return playLog({
      turns: [...turns, ...later],
      agent: { retry: { maxRetries: 1, initialDelayMs: 0 }, limits: { maxTurns: 8 } },
      async act(session) {
        let heard = 0;
        session.subscribe(() => {
          heard += 1;
          for (const { at, what } of acts) if (at === heard) void session[what]('Mind the gap.');
        });
        for (let n = 0; n < prompts; n += 1) await toItsEnd(session);
      },
    });
  });

async function toItsEnd(session: Session): Promise<void> {
  let result = await session.prompt('Go.').result;
  while (result.status === 'paused') {
    const asked = result.pending.find(({ approvalId }) => approvalId !== undefined);
    const next =
      asked?.approvalId === undefined
        ? session.addToolOutputs(result.pending.map(({ callId }) => ({ callId, content: 'picked' })))
        : session.approve(asked.approvalId);
    result = await next.result;
  }
}
