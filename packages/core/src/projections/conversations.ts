import type { LogReader } from '../journal/history.ts';
import { lastSeq } from '../journal/last-seq.ts';
import type { DurableEvent } from '../events/events.ts';
import type { UserMessage } from '../messages/message.ts';
import { runResultFold, type RunResult } from './run-result.ts';

/** A run that has ended, as a piece of a conversation. */
export interface ConversationRecord extends RunResult {
  /** The number of the event that ended it. */
  readonly cursor: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** What it was asked: the first message of a person in it. Null for a run that continued another. */
  readonly prompt: UserMessage | null;
}

/** Options of {@link conversations}. */
export interface ConversationOptions {
  /** Only runs that ended before this one: the `cursor` of a page, or of a record. */
  readonly before?: number;
  /** At most so many, from 1 to 100. Default 20. */
  readonly limit?: number;
}

/** A page of conversations, and where the next one begins. */
export interface ConversationPage {
  /** The newest that there are before the cursor, oldest first. */
  readonly conversations: readonly ConversationRecord[];
  /** True when there are older ones. */
  readonly hasMore: boolean;
  /** The cursor of the page before; absent when there is none. */
  readonly cursor?: number;
}

const MOST = 100;
const DEFAULT_LIMIT = 20;
/** Events that are read at first, going backwards; each time twice as many, so that all of it costs what the page does. */
const FIRST_WINDOW = 128;

/**
 * The runs of a session that have ended, a page at a time, the newest page first. A run that is paused or under way is not
 * among them, and neither is a prompt that was refused before its run began: nothing was said in it.
 *
 * Reads the events of the page and a few beside them, and none of what is before or after, as far as the journal can begin
 * to read anywhere.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { readConversations } from '@treadle/core/projections';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const session = await createSession(defineAgent({ model: scriptedModel(['One.', 'Two.']) }), { journal });
 * await session.prompt('First').result;
 * await session.prompt('Second').result;
 *
 * const log = { read: (from: number) => journal.read(session.id, from) };
 * const { conversations, hasMore } = await readConversations(log, { limit: 1 });
 * console.log(conversations.map(({ text }) => text), hasMore); // [ 'Two.' ] true
 * ```
 */
export async function readConversations(
  log: LogReader,
  { before, limit = DEFAULT_LIMIT }: ConversationOptions = {},
): Promise<ConversationPage> {
  const most = Number.isFinite(limit) ? Math.min(Math.max(1, Math.floor(limit)), MOST) : DEFAULT_LIMIT;
  const end = Math.max(1, before ?? (await lastSeq(log)) + 1);
  let events: DurableEvent[] = [];
  let start = end;
  let window = FIRST_WINDOW;
  let runs = endedRuns(events);
  while (start > 1 && !(runs.complete.length >= most && runs.hasOlder(most))) {
    const from = Math.max(1, start - window);
    events = [...(await readBetween(log, from, start)), ...events];
    start = from;
    window *= 2;
    runs = endedRuns(events);
  }
  const page = runs.complete.slice(-most);
  const conversations = page.map(([first, last]) => recordOf(events.slice(first, last + 1)));
  const hasMore = runs.hasOlder(page.length);
  const [oldest] = conversations;
  return { conversations, hasMore, ...(hasMore && oldest ? { cursor: oldest.cursor } : {}) };
}

interface EndedRuns {
  /** The places of the first and the last event of each run that is there whole. */
  readonly complete: readonly (readonly [number, number])[];
  /** Whether there is any end of a run before the newest so many. */
  hasOlder(count: number): boolean;
}

/** Runs follow one another, so each end belongs to the start before it. */
function endedRuns(events: readonly DurableEvent[]): EndedRuns {
  const complete: [number, number][] = [];
  let ends = 0;
  let started: number | null = null;
  events.forEach((event, index) => {
    if (event.type === 'run_started') started = index;
    // With an input it is the end of a run that never started.
    if (event.type !== 'run_ended' || event.inputSeq !== undefined) return;
    ends += 1;
    if (started !== null) complete.push([started, index]);
    started = null;
  });
  return { complete, hasOlder: (count) => ends > count };
}

function recordOf(events: readonly DurableEvent[]): ConversationRecord {
  const [first] = events;
  const last = events.at(-1);
  if (first?.type !== 'run_started' || last === undefined) throw new TypeError('A run begins with run_started.');
  const fold = runResultFold(first.runId);
  for (const event of events) fold.take(event);
  const result = fold.result();
  const prompt = result.messages.find((message) => message.role === 'user' && message.origin === 'prompt');
  return {
    ...result,
    cursor: last.seq,
    startedAt: first.at,
    endedAt: last.at,
    prompt: prompt?.role === 'user' ? prompt : null,
  };
}

async function readBetween(log: LogReader, from: number, end: number): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  if (from >= end) return events;
  for await (const event of log.read(from)) {
    events.push(event);
    if (event.seq >= end - 1) break;
  }
  return events;
}
