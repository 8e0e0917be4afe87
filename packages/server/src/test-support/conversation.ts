import {
  asTool,
  type Agent,
  type Journal,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  slidingWindow,
  systemClock,
  type RunResult,
  type Session,
  type TreadleEvent,
} from '@treadle/core';
import { countingIds, scriptedModel, type Turn } from '@treadle/testing';

/** What a connection is told between two requests of a client. */
export interface Drive {
  readonly events: readonly TreadleEvent[];
  readonly result: RunResult;
}

/** A conversation with everything in it, as three drives: until a client's tool, until an approval, until its end. */
export interface Conversation {
  readonly sessionId: string;
  readonly runId: string;
  readonly drives: readonly [Drive, Drive, Drive];
}

const script: readonly Turn[] = [
  {
    thinking: 'Two cities.\nBoth at once, and where the browser is: none of the three needs another.',
    text: 'Let me look <now> & say "so".',
    toolCalls: [
      { name: 'weather', arguments: { city: 'Oslo' } },
      { name: 'weather', arguments: { city: ']]></content-block-tool_result>' } },
      { name: 'locate', arguments: { precise: true } },
    ],
  },
  // It fails in the middle of a word, and is asked again.
  { text: 'May I not buy it', error: { kind: 'network', message: 'Gone.', retryable: true, afterDeltas: 1 } },
  { text: 'May I?', toolCalls: [{ name: 'buy', arguments: { item: 'umbrella' } }] },
  { toolCalls: [{ name: 'reader', arguments: { prompt: 'What is in the manual?' } }] },
  { text: 'Bought. Back\\slash, and a line:\nFare well. 🧵' },
];

/** The agent of the conversation: what its model says is written down, whatever it is asked. */
export function conversationAgent(): Agent {
  const weather = defineTool({
    name: 'weather',
    description: 'The weather of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: ({ city }) => {
      if (city !== 'Oslo') throw new Error(`There is no city '${city}'.`);
      return 'rain';
    },
  });
  const locate = defineTool({
    name: 'locate',
    description: 'Where the browser is.',
    runs: 'client',
    inputSchema: { type: 'object', properties: { precise: { type: 'boolean' } } },
  });
  const buy = defineTool({
    name: 'buy',
    description: 'Buys a thing.',
    approval: 'always',
    inputSchema: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
    execute: ({ item }) => `one ${item}`,
  });
  const reader = asTool(defineAgent({ id: 'reader', model: scriptedModel(['How to open it.'], { chunkSize: 12 }) }), {
    description: 'Reads manuals.',
  });
  return defineAgent({
    model: scriptedModel(script, { chunkSize: 12 }),
    tools: [weather, locate, buy, reader],
    retry: { initialDelayMs: 0, maxDelayMs: 0, afterText: true },
    context: { window: 100_000, strategy: slidingWindow() },
  });
}

/** Plays the conversation, with identity and time of its own, so that its events are always the same. */
export async function playConversation(journal: Journal = memoryJournal()): Promise<Conversation> {
  const clock = { ...systemClock, now: () => 1_800_000_000_000 };
  const session = await createSession(conversationAgent(), {
    id: 's1',
    journal,
    ids: countingIds(),
    clock,
    random: () => 0,
  });
  const first = await drive(session, () => session.prompt('An umbrella?'));
  const pending = first.result.pending.map(({ callId }) => ({ callId, content: '59.9, 10.7' }));
  const second = await drive(session, () => session.addToolOutputs(pending));
  const approvalId = second.result.pending[0]?.approvalId ?? '';
  let compaction: Promise<unknown> | undefined;
  const third = await drive(session, () => {
    const run = session.approve(approvalId);
    // Done before the next model call.
    compaction = session.compact();
    return run;
  });
  await compaction;
  return { sessionId: session.id, runId: first.result.runId, drives: [first, second, third] };
}

async function drive(session: Session, start: () => { readonly result: Promise<RunResult> }): Promise<Drive> {
  const events: TreadleEvent[] = [];
  const stop = session.subscribe((event) => {
    // Deltas hand out values that go on growing.
    events.push(structuredClone(event));
  });
  try {
    const result = await start().result;
    return { events, result };
  } finally {
    stop();
  }
}
