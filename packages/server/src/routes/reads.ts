import type { DurableEvent, Message } from '@treadle/core';
import type { ContentBlock } from '@treadle/core/messages';
import { costTableFold, readConversations } from '@treadle/core/projections';
import { eventJson } from '../encoders/native.ts';
import { jsonResponse, type RouteCall, type Route } from './serving/route.ts';
import { openStream, positionOf } from './stream.ts';

const PAGE = {
  after: {
    schema: { type: 'integer', minimum: 0, default: 0 },
    description: 'Only what comes after this event. Default 0.',
  },
  limit: {
    schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    description: 'At most so many. Default 100.',
  },
} as const;

/** Items of a log in its order, a page at a time: `cursor` is the `after` of the next page. */
async function pageOf<Item>(
  { parts, query, sessionId }: RouteCall,
  itemsOf: (event: DurableEvent) => readonly Item[],
): Promise<{ readonly items: Item[]; readonly cursor?: number }> {
  const limit = query['limit'] as number;
  const from = (query['after'] as number) + 1;
  const items: Item[] = [];
  let last = from - 1;
  for await (const event of parts.journal.read(sessionId, from)) {
    const found = itemsOf(event);
    if (items.length > 0 && items.length + found.length > limit) return { items, cursor: last };
    items.push(...found);
    last = event.seq;
  }
  return { items };
}

/** A message as it happened. `inView` is false for one that is not sent to models. */
function historyOf(event: DurableEvent): object[] {
  if (event.type === 'message_added') {
    const { seq, runId, inView, message } = event;
    return [{ seq, runId, inView, message }];
  }
  if (event.type !== 'tool_ended' && event.type !== 'tool_call_rejected') return [];
  const { seq, at, runId, callId, toolName, content } = event;
  if (event.type === 'tool_call_rejected' && event.reason === 'no_call') return [];
  const isError = event.type === 'tool_call_rejected' || event.isError;
  const message: Message = { role: 'tool', id: `result_${callId}`, at, callId, toolName, content, isError };
  return [{ seq, runId, inView: true, message }];
}

/** Images and files that a log speaks of, without their bytes where it has those. */
function filesOf(event: DurableEvent): object[] {
  const blocks: ContentBlock[] = [];
  if (event.type === 'message_added' && 'content' in event.message)
    blocks.push(...(event.message.content as ContentBlock[]));
  if (event.type === 'tool_ended') blocks.push(...event.content, ...(event.files ?? []));
  return blocks.flatMap((block): object[] => {
    if (block.type !== 'image' && block.type !== 'file') return [];
    const { data, opaque: _, ...rest } = block;
    return [{ seq: event.seq, ...rest, ...(data === undefined ? {} : { bytes: Math.floor((data.length * 3) / 4) }) }];
  });
}

/** A route that reads items out of the log, a page at a time. */
const listed = (
  path: string,
  name: string,
  id: string,
  summary: string,
  itemsOf: (event: DurableEvent) => readonly unknown[],
): Route => ({
  method: 'get',
  path: `/v1/sessions/{sessionId}/${path}`,
  id,
  summary,
  query: PAGE,
  success: {
    status: 200,
    description: `The ${name} in order, with the \`cursor\` of the next page where there is one.`,
  },
  async handle(call) {
    const { items, ...more } = await pageOf(call, itemsOf);
    return jsonResponse({ [name]: items, ...more });
  },
});

export const READ_ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/stream',
    id: 'streamSession',
    summary:
      'Streams a session: its events from the beginning, or after `last-event-id`, and then as they happen. A WebSocket upgrade gets the same as messages.',
    query: {
      after: { schema: { type: 'string' }, description: 'As `last-event-id`, for clients that can’t set headers.' },
      format: { schema: { type: 'string' }, description: 'The format of the stream. Default `json`.' },
    },
    success: {
      status: 200,
      description: 'Server-sent events, each with an id to resume after.',
      contentType: 'text/event-stream',
    },
    problems: ['invalid_cursor'],
    handle: async (call) => openStream(call, call.sessionId, { from: await positionOf(call) }),
  },
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/events',
    id: 'listEvents',
    summary: 'Reads the log: a page of its events.',
    query: PAGE,
    success: {
      status: 200,
      description: 'The events in order, with the `cursor` of the next page where there is one.',
    },
    async handle(call) {
      const { items, cursor } = await pageOf(call, (event) => [event]);
      const events = `[${items.map(eventJson).join(',')}]`;
      const more = cursor === undefined ? '' : `,"cursor":${cursor}`;
      return new Response(`{"events":${events}${more}}`, {
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      });
    },
  },
  listed(
    'history',
    'messages',
    'readHistory',
    'Reads all messages as they happened, results of tools among them.',
    historyOf,
  ),
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/conversations',
    id: 'listConversations',
    summary: 'Reads the runs that have ended, the newest page first.',
    query: {
      before: { schema: { type: 'integer', minimum: 1 }, description: 'The `cursor` of the page before.' },
      limit: {
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        description: 'At most so many. Default 20.',
      },
    },
    success: { status: 200, description: 'Runs with their messages and results.' },
    async handle(call) {
      const log = { read: (from: number) => call.parts.journal.read(call.sessionId, from) };
      return jsonResponse(await readConversations(log, call.query));
    },
  },
  listed('files', 'files', 'listFiles', 'Lists the images and files that the log speaks of.', filesOf),
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/cost',
    id: 'readCost',
    summary: 'Says what a session has used and cost: by model, by run, and altogether.',
    success: { status: 200, description: 'The table.' },
    async handle(call) {
      const fold = costTableFold();
      for await (const event of call.parts.journal.read(call.sessionId, 1)) fold.take(event);
      return jsonResponse(fold.table());
    },
  },
];
