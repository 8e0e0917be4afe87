import { checkTags, checkTitle } from '@treadle/core/journal';
import { listSessions, searchSessions } from '../operations/catalogue.ts';
import { note } from '../operations/post.ts';
import * as schemas from '../operations/schemas.ts';
import { createSession, forkSession, readSession } from '../operations/sessions.ts';
import { RequestError } from '../problem.ts';
import { accepted, jsonResponse, type Route } from './serving/route.ts';

const PAGE = {
  limit: {
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    description: 'At most so many. Default 20.',
  },
  cursor: { schema: { type: 'string' }, description: 'The cursor of the page before.' },
  agent: { schema: { type: 'string' }, description: 'Only sessions of this agent.' },
  tag: { schema: { type: 'string' }, description: 'Only sessions with this tag.' },
} as const;

export const SESSION_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions',
    id: 'createSession',
    summary: 'Starts a session.',
    body: schemas.newSession,
    success: { status: 201, description: 'It is there; 200 when the same request has created it before.' },
    problems: ['session_exists', 'idempotency_mismatch'],
    async handle(call) {
      const { existed, ...created } = await createSession(call, call.body);
      return jsonResponse(created, existed ? 200 : 201);
    },
  },
  {
    method: 'get',
    path: '/v1/sessions',
    id: 'listSessions',
    summary: 'Lists sessions, those that changed last first.',
    query: PAGE,
    success: { status: 200, description: 'A page, with the cursor of the next where there is one.' },
    handle: async (call) => jsonResponse(await listSessions(call, call.query)),
  },
  {
    method: 'get',
    path: '/v1/search',
    id: 'searchSessions',
    summary: 'Finds sessions in which all words of `query` occur: in title, tags or first prompt, else in a message.',
    query: {
      query: {
        schema: { type: 'string', minLength: 1, maxLength: 500 },
        description: 'The words. Case does not matter.',
      },
      messages: {
        schema: { type: 'boolean', default: true },
        description: 'False looks at titles, tags and first prompts only.',
      },
      ...PAGE,
    },
    success: {
      status: 200,
      description:
        'A page of `hits`, sessions that changed last first. It may be short while there is a `cursor` to go on with.',
    },
    async handle(call) {
      const { query: words = '' } = call.query;
      if (typeof words !== 'string' || words.trim() === '' || words.length > 500)
        throw new RequestError('bad_request', '`query` must have 1 to 500 characters.');
      return jsonResponse(await searchSessions(call, { ...call.query, query: words }, call.request.signal));
    },
  },
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}',
    id: 'readSession',
    summary: 'Says what a session is at, and what its run waits for.',
    success: { status: 200, description: 'The session as it is now.' },
    handle: async ({ parts, sessionId }) => jsonResponse(await readSession(parts, sessionId)),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/fork',
    id: 'forkSession',
    summary: 'Starts a session that begins with the events of this one.',
    body: schemas.fork,
    success: { status: 201, description: 'It is there; 200 when the same request has created it before.' },
    problems: ['session_exists', 'idempotency_mismatch'],
    async handle(call) {
      const { existed, ...created } = await forkSession(call, call.sessionId, call.body);
      return jsonResponse(created, existed ? 200 : 201);
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/title',
    id: 'renameSession',
    summary: 'Names a session.',
    body: schemas.title,
    success: { status: 202, description: 'It is in the log.' },
    problems: ['invalid_definition', 'idempotency_mismatch'],
    async handle(call) {
      const title = checkTitle(call.body['title'] as string);
      return accepted(await note(call, call.sessionId, { type: 'rename', title }));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/tags',
    id: 'tagSession',
    summary: 'Adds tags to a session; those of `remove` are taken away first.',
    body: schemas.tags,
    success: { status: 202, description: 'It is in the log.' },
    problems: ['invalid_definition', 'idempotency_mismatch'],
    async handle(call) {
      const { add = [], remove = [] } = call.body as schemas.TagsRequest;
      const added = add.length > 0 && { add: checkTags(add) };
      const removed = remove.length > 0 && { remove: checkTags(remove) };
      return accepted(await note(call, call.sessionId, { type: 'tag', ...added, ...removed }));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/tickets',
    id: 'issueTicket',
    summary:
      'Makes a ticket that opens the stream of the session once: `…/stream?ticket=…`, for a browser’s EventSource.',
    access: 'read',
    success: { status: 201, description: 'The `ticket`, and when it ends (`expiresAt`).' },
    handle: async ({ parts, principal, sessionId }) => jsonResponse(parts.tickets.issue(principal, sessionId), 201),
  },
  {
    method: 'delete',
    path: '/v1/sessions/{sessionId}',
    id: 'deleteSession',
    summary: 'Deletes a session. What its forks use of it stays.',
    success: { status: 204, description: 'It is gone.' },
    problems: ['session_busy'],
    async handle(call) {
      await call.parts.journal.remove(call.sessionId);
      return new Response(null, { status: 204 });
    },
  },
];
