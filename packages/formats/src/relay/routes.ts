import type { DurableEvent, Message } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';
import { initialState, reduce } from '@treadle/core/kernel';
import { base64Bytes, type ContentBlock } from '@treadle/core/messages';
import { blobIdOf } from '@treadle/core/ports';
import { readConversations } from '@treadle/core/projections';
import {
  jsonResponse,
  readBytes,
  RequestError,
  type Route,
  type RouteCall,
  type RouteRun,
  type RouteSessions,
  type StreamFormat,
} from '@treadle/server';
import type { RelayOptions } from './encoder.ts';
import { readRelayApprovals, readRelayForm, readRelayPrompt, readRelayResults } from './inputs.ts';
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
function formatOf({
  query,
}: RouteCall): (past?: readonly DurableEvent[], messages?: readonly Message[]) => StreamFormat {
  const name = String(query['format']);
  const make = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (!make) throw new RequestError('bad_request', `There is no format "${name}". The formats are: json, xml, raw.`);
  return (past = [], messages = []) => make({ history: query['history'] === true, past, messages });
}

/** The conversation before the open run, or all of it; nothing where the request doesn't want it. */
async function historyOf({ query, sessions }: RouteCall, sessionId: string, before = Infinity): Promise<Message[]> {
  if (query['history'] !== true) return [];
  const state = initialState(sessionId);
  for await (const event of sessions.events(sessionId)) {
    if (event.seq >= before) break;
    reduce(state, event);
  }
  return state.view;
}

/** A form, read as far as uploads may be long. @throws RequestError `too_large`, `bad_request`. */
async function formOf({ request, parts }: RouteCall): Promise<FormData> {
  const bytes = await readBytes(request, parts.limits.uploadBytes);
  const headers = { 'content-type': request.headers.get('content-type') ?? '' };
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- the body is read already, and no longer than an upload may be
    return await new Response(bytes, { headers }).formData();
  } catch {
    throw new RequestError('bad_request', 'The body is no form. Send it as multipart/form-data.');
  }
}

/** Starts a run of a session that is known, or of a new one, and streams it. */
async function startAndStream(
  call: RouteCall,
  { sessionId: known, agentType, prompt }: ReturnType<typeof readRelayPrompt>,
): Promise<Response> {
  // First, so that a request for an unknown format makes nothing.
  const format = formatOf(call);
  const sessionId = known ?? (await newSession(call, agentType));
  const messages = await historyOf(call, sessionId);
  const run = await call.sessions.startRun(sessionId, { input: prompt });
  return run.stream(format([], messages));
}

/** Gives a paused run what it waits for, and streams the rest of it. */
async function resumeAndStream(
  call: RouteCall,
  sessionId: string,
  give: (sessions: RouteSessions) => Promise<RouteRun>,
): Promise<Response> {
  const format = formatOf(call);
  const past = await call.sessions.openRun(sessionId);
  const messages = await historyOf(call, sessionId, past[0]?.seq);
  return (await give(call.sessions)).stream(format(past, messages));
}

/** The runs of a session that have ended. */
async function runsOf({ sessions }: RouteCall, sessionId: string): Promise<number> {
  let runs = 0;
  for await (const event of sessions.events(sessionId))
    if (event.type === 'run_ended' && event.inputSeq === undefined) runs += 1;
  return runs;
}

/** Types of images that a browser shows and that run nothing. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

interface Image {
  readonly mediaType: string;
  readonly body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>;
}

/** An image that a session's log names, by the id that a blob of its bytes has. Null for what the log doesn't name. */
async function imageIn({ sessions, parts }: RouteCall, sessionId: string, id: string): Promise<Image | null> {
  for await (const event of sessions.events(sessionId)) {
    for (const block of blocksOf(event)) {
      if (block.type !== 'image' && block.type !== 'file') continue;
      const { mediaType, data, blob } = block;
      if (blob?.id === id && parts.blobs) return { mediaType, body: ReadableStream.from(copied(parts.blobs.read(id))) };
      const bytes = data === undefined ? null : joined(base64Bytes(data) ?? []);
      if (bytes && (await idOf(bytes)) === id) return { mediaType, body: bytes };
    }
  }
  return null;
}

/** The id that a blob of these bytes has. */
async function idOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return blobIdOf(Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''));
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function blocksOf(event: DurableEvent): readonly ContentBlock[] {
  if (event.type === 'tool_ended') return [...event.content, ...(event.files ?? [])];
  return event.type === 'message_added' && 'content' in event.message ? event.message.content : [];
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
    handle: (call) => startAndStream(call, readRelayPrompt(call.body)),
  },
  {
    ...streamed,
    path: '/agent/run/multipart',
    id: 'relayRunWithFiles',
    summary: 'The same as a form: the fields as texts, and images and documents as files.',
    bodyType: 'multipart/form-data',
    problems: ['run_active', 'invalid_messages', 'too_large'],
    handle: async (call) => startAndStream(call, await readRelayForm(await formOf(call))),
  },
  {
    ...streamed,
    path: '/agent/approvals',
    id: 'relayApprovals',
    summary: 'Answers questions with `{ agent_uuid, approvals: [{ approval_id, decision, message? }] }`.',
    problems: ['not_awaiting', 'conflict', 'invalid_messages'],
    async handle(call) {
      const { sessionId, answers } = readRelayApprovals(call.body);
      return resumeAndStream(call, sessionId, (sessions) => sessions.answerApprovals(sessionId, answers));
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
      return resumeAndStream(call, sessionId, (sessions) => sessions.addToolOutputs(sessionId, results));
    },
  },
  {
    method: 'get',
    path: '/agent/sessions',
    id: 'relaySessions',
    summary: 'Lists sessions, those that changed last first.',
    query: {
      limit: limit(50),
      offset: { schema: { type: 'integer', minimum: 0, default: 0 }, description: 'Passes over so many. Default 0.' },
    },
    success: { status: 200, description: 'A page: `sessions`, and the `total` of all.' },
    async handle(call) {
      const rows = await allSessions(call);
      const [first, most] = [Number(call.query['offset']), Number(call.query['limit'])];
      const sessions: object[] = [];
      for (const { sessionId, title, createdAt, updatedAt } of rows.slice(first, first + most)) {
        sessions.push({
          agent_uuid: sessionId,
          title: title ?? null,
          created_at: new Date(createdAt).toISOString(),
          updated_at: new Date(updatedAt).toISOString(),
          total_runs: await runsOf(call, sessionId),
        });
      }
      return jsonResponse({ sessions, total: rows.length });
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
    success: { status: 200, description: 'A page: `conversations`, `has_more`, and the session’s `title`.' },
    async handle({ sessions, sessionId, query }) {
      const log = { read: (from: number) => sessions.events(sessionId, from) };
      const { conversations, hasMore } = await readConversations(log, query);
      const { title } = await sessions.read(sessionId);
      return jsonResponse({ conversations, has_more: hasMore, title: title ?? null });
    },
  },
  {
    method: 'post',
    path: '/agent/upload',
    id: 'relayUpload',
    summary: 'Keeps the files of a form.',
    bodyType: 'multipart/form-data',
    success: { status: 201, description: '`files`: the `file_id` of each, with its name, type and size.' },
    problems: ['too_large'],
    async handle(call) {
      const { blobs } = call.parts;
      if (!blobs) throw new RequestError('not_found', 'This server keeps no files.');
      const files: object[] = [];
      for (const file of (await formOf(call)).values()) {
        if (typeof file === 'string') continue;
        const { id, size } = await blobs.put(file.stream());
        files.push({ file_id: id, filename: file.name, media_type: file.type, size });
      }
      return jsonResponse({ files }, 201);
    },
  },
  {
    method: 'get',
    path: '/agent/{sessionId}/images/{imageId}',
    id: 'relayImage',
    summary: 'Reads an image that the session has used.',
    success: { status: 200, description: 'Its bytes.', contentType: 'image/*' },
    problems: ['blob_not_found'],
    async handle(call) {
      const image = await imageIn(call, call.sessionId, call.path['imageId'] ?? '');
      if (!image) throw new RequestError('not_found', 'There is no such image.');
      return new Response(image.body, {
        headers: {
          'content-type': IMAGES.has(image.mediaType) ? image.mediaType : 'application/octet-stream',
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; sandbox",
          'cache-control': 'private, max-age=31536000, immutable',
        },
      });
    },
  },
];

/** A piece may be reused by its giver. */
async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield piece.slice();
}

/** All sessions that the token may see, newest first. */
async function allSessions({ sessions }: RouteCall): Promise<SessionSummary[]> {
  const rows: SessionSummary[] = [];
  for (
    let page = await sessions.list({ limit: 100 });
    ;
    page = await sessions.list({ limit: 100, cursor: page.cursor })
  ) {
    rows.push(...page.sessions);
    if (page.cursor === undefined) return rows;
  }
}

async function newSession({ sessions }: RouteCall, agentType: string | undefined): Promise<string> {
  const { sessionId } = await sessions.create(agentType === undefined ? {} : { agent: agentType });
  return sessionId;
}
