import { createHash } from 'node:crypto';
import { TreadleError, type Agent, type Journal } from '@treadle/core';
import { createServer, type AgentServer } from './app.ts';
import { readJson } from './json-body.ts';
import { errorField } from './log.ts';
import { isSessionId } from './operations/schemas.ts';
import type { ServerSettings } from './parts.ts';
import { problemResponse, RequestError } from './problem.ts';
import { agUiTurn, aiSdkTurn, chatQuery, resumeAiSdk, stopChat } from './routes/chat-protocols.ts';
import { readQuery } from './routes/serving/query.ts';
import type { RouteCall } from './routes/serving/route.ts';
import { sessionsFor } from './routes/serving/sessions.ts';
import { isCrossSite } from './security/admit.ts';

/** Whom a response is for, and what answers. */
export interface ChatResponseOptions extends Pick<ServerSettings, 'blobs' | 'offeredTools' | 'limits' | 'log'> {
  readonly agent: Agent;
  readonly journal: Journal;
  /** Who is logged in, in the application's own words. A user's chats are out of reach for all others. */
  readonly user: string;
}

/** One for each agent and journal, made by the first request. */
const servers = new WeakMap<Journal, WeakMap<Agent, AgentServer>>();

function serverFor({ agent, journal, user: _, ...settings }: ChatResponseOptions): AgentServer {
  const known = servers.get(journal) ?? new WeakMap<Agent, AgentServer>();
  servers.set(journal, known);
  const server = known.get(agent);
  if (server) return server;
  const made = createServer({ ...settings, agents: [agent], journal, authenticate: () => null });
  known.set(agent, made);
  made.recover().catch((error: unknown) => made.parts.log('error', 'recovery_failed', { error: errorField(error) }));
  return made;
}

/** What the sessions of a user begin with. No other user's begin so. */
function prefixOf(user: string): string {
  if (user === '') throw new TreadleError('invalid_definition', '`user` is empty. Give the id of who is logged in.');
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(user)) return `${user}:`;
  return `u~${createHash('sha256').update(user).digest('hex').slice(0, 32)}:`;
}

type Answer = (call: RouteCall, prefix: string) => Promise<Response>;

async function respond(request: Request, options: ChatResponseOptions, turn: Answer): Promise<Response> {
  try {
    const prefix = prefixOf(options.user);
    const { parts } = serverFor(options);
    const url = new URL(request.url);
    const [, encoded, action] = /\/([^/]+)\/(stream|stop|abort)\/?$/.exec(url.pathname) ?? [];
    const isTurn = request.method === 'POST' && action !== 'stop' && action !== 'abort';
    const limits = { maxBytes: parts.limits.bodyBytes, maxDepth: parts.limits.bodyDepth };
    const sessionId = prefix + decodeURIComponent(encoded ?? '');
    const facts = {
      parts,
      request,
      principal: { name: prefix, sessions: [`${prefix}*`] },
      token: '',
      idSuffix: '',
      sessionId,
      path: {},
      query: readQuery(url.searchParams, chatQuery),
      body: isTurn ? await readJson(request, limits) : {},
      key: null,
      inputKey: parts.ids.create('chat'),
      node: null,
    };
    const call: RouteCall = { ...facts, sessions: sessionsFor(facts) };
    if (isTurn) return await turn(call, prefix);
    if (action === undefined || !isSessionId(sessionId))
      throw new RequestError('method_not_allowed', 'POST a turn, or GET …/{chat id}/stream.');
    if (action === 'stream') return await resumeAiSdk(call);
    // A form of another site could send it, with the user's cookies.
    if (isCrossSite(request.headers)) throw new RequestError('forbidden', 'Another site may not end a run.');
    return await stopChat(call);
  } catch (error) {
    return problemResponse(error);
  }
}

/**
 * Answers a request of a chat of the AI SDK, without a server. Call it behind the application's own login: in a route handler
 * for `POST /api/chat`, and, for chats that resume and stop, for `GET /api/chat/{id}/stream` and `POST /api/chat/{id}/stop`.
 * Chats are sessions of the journal. Errors come back as responses.
 *
 * @example
 * ```ts
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { aiSdkResponse } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(['Hello.']) });
 * const journal = memoryJournal();
 * const POST = (request: Request) => aiSdkResponse(request, { agent, journal, user: 'ann' });
 *
 * const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
 * const headers = { 'content-type': 'application/json' };
 * const body = JSON.stringify({ id: 'chat-1', messages });
 * const response = await POST(new Request('http://localhost/api/chat', { method: 'POST', headers, body }));
 * console.log((await response.text()).includes('Hello.')); // true
 * ```
 */
export const aiSdkResponse = (request: Request, options: ChatResponseOptions): Promise<Response> =>
  respond(request, options, aiSdkTurn);

/** The same for a request of AG-UI: `HttpAgent` posts to it. `POST …/{thread id}/abort` ends a run. */
export const agUiResponse = (request: Request, options: ChatResponseOptions): Promise<Response> =>
  respond(request, options, agUiTurn);
