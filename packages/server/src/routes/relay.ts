import type { DurableEvent } from '@treadle/core';
import { readConversations } from '@treadle/core/projections';
import type { StreamFormat } from '../encoders/encoder.ts';
import { relayJsonFormat } from '../encoders/relay-json.ts';
import { relayRawFormat } from '../encoders/relay-raw.ts';
import { relayXmlFormat } from '../encoders/relay-xml.ts';
import type { RelayOptions } from '../encoders/relay.ts';
import { readRelayPrompt, readRelayResults } from '../inputs/relay.ts';
import { addToolOutputs } from '../operations/answers.ts';
import { listSessions } from '../operations/catalogue.ts';
import { startRun } from '../operations/inputs.ts';
import { createSession } from '../operations/sessions.ts';
import { RequestError } from '../problem.ts';
import { checkAccess } from '../security/admit.ts';
import { oneRun, type RunRef } from '../streams/scope.ts';
import { keyOf } from './ask.ts';
import { integer } from './serving/parameters.ts';
import { json, type Call, type Route } from './serving/route.ts';
import { openStream } from './stream.ts';

const FORMATS: Readonly<Record<string, (options: RelayOptions) => StreamFormat>> = {
  json: relayJsonFormat,
  xml: relayXmlFormat,
  raw: relayRawFormat,
};

const format = {
  format: { schema: { type: 'string', enum: Object.keys(FORMATS) }, description: 'Default `json`.' },
  history: { schema: { type: 'boolean' }, description: 'True streams the history and the results of tools besides.' },
} as const;

/** How a request wants its stream written. `past` is what the run did before it. */
function formatOf({ query }: Call, past: readonly DurableEvent[]): StreamFormat {
  const name = query.get('format') ?? 'json';
  const make = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (!make) throw new RequestError('bad_request', `There is no format "${name}". The formats are: json, xml, raw.`);
  return make({ history: query.get('history') === 'true', past });
}

function stream(call: Call, sessionId: string, inputSeq: number, ref: RunRef, past: readonly DurableEvent[]): Response {
  const from = { seq: inputSeq - 1, message: null };
  return openStream({ ...call, path: { sessionId } }, { from, scope: oneRun(ref), format: formatOf(call, past) });
}

/** The events of the open run up to now. */
async function pastOf({ parts }: Call, sessionId: string): Promise<DurableEvent[]> {
  const { run, seq } = await parts.states.of(sessionId);
  const events: DurableEvent[] = [];
  if (!run) return events;
  for await (const event of parts.journal.read(sessionId, run.startedSeq)) {
    if (event.seq > seq) break;
    events.push(event);
  }
  return events;
}

/**
 * A relay for tools that run in browsers: the server keeps nothing between two requests but the log, so that any process can
 * take the next one.
 */
export const RELAY_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/agent/run',
    id: 'relayRun',
    summary: 'Starts a run with `{ agent_uuid?, agent_type?, user_prompt }` and streams it up to its end or its pause.',
    access: 'write',
    query: format,
    success: { status: 200, description: 'The stream, closed by `[DONE]`.', contentType: 'text/event-stream' },
    problems: ['run_active', 'invalid_messages'],
    async handle(call) {
      const { sessionId: known, agentType, prompt } = readRelayPrompt(call.body);
      // Before anything is made, so that a request that can't be answered makes nothing.
      formatOf(call, []);
      checkAccess(call.principal, 'write', known);
      const sessionId = known ?? (await newSession(call, agentType));
      const { inputSeq } = await startRun(call.parts, { sessionId, ...keyOf(call) }, { input: prompt });
      return stream(call, sessionId, inputSeq, { inputSeq }, []);
    },
  },
  {
    method: 'post',
    path: '/agent/tool_results',
    id: 'relayToolResults',
    summary: 'Goes on with `{ agent_uuid, tool_results: [{ tool_use_id, content, is_error }] }`: all that are awaited.',
    access: 'write',
    query: format,
    success: { status: 200, description: 'The stream, closed by `[DONE]`.', contentType: 'text/event-stream' },
    problems: ['not_awaiting', 'invalid_messages'],
    async handle(call) {
      const { sessionId, results } = readRelayResults(call.body);
      formatOf(call, []);
      checkAccess(call.principal, 'write', sessionId);
      const past = await pastOf(call, sessionId);
      const { inputSeq } = await addToolOutputs(call.parts, { sessionId, ...keyOf(call) }, results);
      return stream(call, sessionId, inputSeq, { answeredBy: inputSeq }, past);
    },
  },
  {
    method: 'get',
    path: '/agent/sessions',
    id: 'relaySessions',
    summary: 'Lists sessions, those that changed last first.',
    access: 'read',
    query: {
      limit: { schema: { type: 'integer', minimum: 1, maximum: 100 }, description: 'At most so many. Default 50.' },
      cursor: { schema: { type: 'string' }, description: 'The cursor of the page before.' },
    },
    success: { status: 200, description: 'A page.' },
    async handle({ parts, principal, query }) {
      const limit = integer(query, 'limit', { least: 1, most: 100, otherwise: 50 });
      const cursor = query.get('cursor');
      const page = await listSessions(parts, principal, { limit, ...(cursor === null ? {} : { cursor }) });
      const sessions = page.sessions.map(({ sessionId, title, createdAt, updatedAt }) => ({
        agent_uuid: sessionId,
        title: title ?? null,
        created_at: new Date(createdAt).toISOString(),
        updated_at: new Date(updatedAt).toISOString(),
      }));
      return json({ sessions, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) });
    },
  },
  {
    method: 'get',
    path: '/agent/{sessionId}/conversations',
    id: 'relayConversations',
    summary: 'Reads the completed runs of a session, newest first.',
    access: 'read',
    query: {
      limit: { schema: { type: 'integer', minimum: 1, maximum: 100 }, description: 'At most so many. Default 20.' },
      before: { schema: { type: 'integer', minimum: 1 }, description: 'Only runs before this one.' },
    },
    success: { status: 200, description: 'A page: `conversations`, and `has_more`.' },
    async handle({ parts, path, query }) {
      const limit = integer(query, 'limit', { least: 1, most: 100, otherwise: 20 });
      const before = integer(query, 'before', { least: 1, most: Number.MAX_SAFE_INTEGER, otherwise: 0 });
      const log = { read: (from: number) => parts.journal.read(path['sessionId'] ?? '', from) };
      const page = await readConversations(log, { limit, ...(before === 0 ? {} : { before }) });
      return json({ conversations: page.conversations, has_more: page.hasMore });
    },
  },
];

async function newSession({ parts, principal }: Call, agentType: string | undefined): Promise<string> {
  const wanted = agentType === undefined ? {} : { agent: agentType };
  const { sessionId } = await createSession(parts, principal, wanted, null);
  return sessionId;
}
