import type { DurableEvent } from '@treadle/core';
import { readConversations } from '@treadle/core/projections';
import { jsonResponse, RequestError, type Route, type RouteCall, type StreamFormat } from '@treadle/server';
import type { RelayOptions } from './encoder.ts';
import { readRelayPrompt, readRelayResults } from './inputs.ts';
import { relayJsonFormat } from './json.ts';
import { relayRawFormat } from './raw.ts';
import { relayXmlFormat } from './xml.ts';

const FORMATS: Readonly<Record<string, (options: RelayOptions) => StreamFormat>> = {
  json: relayJsonFormat,
  xml: relayXmlFormat,
  raw: relayRawFormat,
};

const streamed = {
  method: 'post',
  query: {
    format: {
      schema: { type: 'string', enum: Object.keys(FORMATS), default: 'json' },
      description: 'Default `json`.',
    },
    history: {
      schema: { type: 'boolean', default: false },
      description: 'True streams the history and the results of tools besides.',
    },
  },
  success: { status: 200, description: 'The stream, closed by `[DONE]`.', contentType: 'text/event-stream' },
} as const;

/** What makes the format that a request wants, given what the run did before. @throws RequestError `bad_request` */
function formatOf({ query }: RouteCall): (past?: readonly DurableEvent[]) => StreamFormat {
  const name = String(query['format']);
  const make = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (!make) throw new RequestError('bad_request', `There is no format "${name}". The formats are: json, xml, raw.`);
  return (past = []) => make({ history: query['history'] === true, past });
}

/** A page of at most 100 items. */
const limit = (otherwise: number) => ({
  schema: { type: 'integer', minimum: 1, maximum: 100, default: otherwise },
  description: `At most so many. Default ${otherwise}.`,
});

/**
 * The routes of a relay for tools that run in browsers: `POST /agent/run` and `POST /agent/tool_results`, which stream, and two
 * lists. The server keeps nothing between two requests but the log, so any process can take the next one.
 *
 * @example
 * ```ts
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { relayRoutes } from '@treadle/formats';
 * import { serve } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(['Hello.']) });
 * const serving = await serve({ agents: [agent], journal: memoryJournal(), routes: relayRoutes });
 * await serving.close();
 * ```
 */
export const relayRoutes: readonly Route[] = [
  {
    ...streamed,
    path: '/agent/run',
    id: 'relayRun',
    summary: 'Starts a run with `{ agent_uuid?, agent_type?, user_prompt }` and streams it up to its end or its pause.',
    problems: ['run_active', 'invalid_messages'],
    async handle(call) {
      const { sessionId: known, agentType, prompt } = readRelayPrompt(call.body);
      // First, so that a request for an unknown format makes nothing.
      const format = formatOf(call);
      const sessionId = known ?? (await newSession(call, agentType));
      const run = await call.sessions.startRun(sessionId, { input: prompt });
      return run.stream(format());
    },
  },
  {
    ...streamed,
    path: '/agent/tool_results',
    id: 'relayToolResults',
    summary: 'Goes on with `{ agent_uuid, tool_results: [{ tool_use_id, content, is_error }] }`: all that are awaited.',
    problems: ['not_awaiting', 'invalid_messages'],
    async handle(call) {
      const { sessionId, results } = readRelayResults(call.body);
      const format = formatOf(call);
      const past = await call.sessions.openRun(sessionId);
      const run = await call.sessions.addToolOutputs(sessionId, results);
      return run.stream(format(past));
    },
  },
  {
    method: 'get',
    path: '/agent/sessions',
    id: 'relaySessions',
    summary: 'Lists sessions, those that changed last first.',
    query: {
      limit: limit(50),
      cursor: { schema: { type: 'string' }, description: 'The cursor of the page before.' },
    },
    success: { status: 200, description: 'A page.' },
    async handle({ sessions, query }) {
      const page = await sessions.list(query);
      const listed = page.sessions.map(({ sessionId, title, createdAt, updatedAt }) => ({
        agent_uuid: sessionId,
        title: title ?? null,
        created_at: new Date(createdAt).toISOString(),
        updated_at: new Date(updatedAt).toISOString(),
      }));
      return jsonResponse({ ...page, sessions: listed });
    },
  },
  {
    method: 'get',
    path: '/agent/{sessionId}/conversations',
    id: 'relayConversations',
    summary: 'Reads the completed runs of a session, newest first.',
    query: {
      limit: limit(20),
      before: { schema: { type: 'integer', minimum: 1 }, description: 'Only runs before this one.' },
    },
    success: { status: 200, description: 'A page: `conversations`, and `has_more`.' },
    async handle({ sessions, sessionId, query }) {
      const log = { read: (from: number) => sessions.events(sessionId, from) };
      const { conversations, hasMore } = await readConversations(log, query);
      return jsonResponse({ conversations, has_more: hasMore });
    },
  },
];

async function newSession({ sessions }: RouteCall, agentType: string | undefined): Promise<string> {
  const { sessionId } = await sessions.create(agentType === undefined ? {} : { agent: agentType });
  return sessionId;
}
