import { createSession, forkSession, listSessions, readSession } from '../operations/sessions.ts';
import { json, type Call, type Route } from './route.ts';
import * as schemas from './schemas.ts';
import { integer, optional } from './parameters.ts';

const sessionOf = ({ path }: Call): string => path['sessionId'] ?? '';

export const SESSION_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions',
    id: 'createSession',
    summary: 'Starts a session.',
    access: 'write',
    body: schemas.newSession,
    success: { status: 201, description: 'It is there; 200 when the same request has created it before.' },
    problems: ['session_exists'],
    async handle({ parts, principal, body, key }) {
      const { existed, ...created } = await createSession(parts, principal, body, key);
      return json(created, existed ? 200 : 201);
    },
  },
  {
    method: 'get',
    path: '/v1/sessions',
    id: 'listSessions',
    summary: 'Lists sessions, those that changed last first.',
    access: 'read',
    query: {
      limit: { schema: { type: 'integer', minimum: 1, maximum: 100 }, description: 'At most so many. Default 20.' },
      cursor: { schema: { type: 'string' }, description: 'The cursor of the page before.' },
      agent: { schema: { type: 'string' }, description: 'Only sessions of this agent.' },
    },
    success: { status: 200, description: 'A page, with the cursor of the next where there is one.' },
    async handle({ parts, principal, query }) {
      const limit = integer(query, 'limit', { least: 1, most: 100, otherwise: 20 });
      return json(
        await listSessions(parts, principal, { limit, ...optional(query, 'cursor'), ...optional(query, 'agent') }),
      );
    },
  },
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}',
    id: 'readSession',
    summary: 'Says what a session is at, and what its run waits for.',
    access: 'read',
    success: { status: 200, description: 'The session as it is now.' },
    handle: async (call) => json(await readSession(call.parts, sessionOf(call))),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/fork',
    id: 'forkSession',
    summary: 'Starts a session that begins with the events of this one.',
    access: 'write',
    body: schemas.fork,
    success: { status: 201, description: 'It is there; 200 when the same request has created it before.' },
    problems: ['session_exists'],
    async handle(call) {
      const { parts, principal, key, body } = call;
      const { existed, ...created } = await forkSession(parts, principal, sessionOf(call), body, key);
      return json(created, existed ? 200 : 201);
    },
  },
  {
    method: 'delete',
    path: '/v1/sessions/{sessionId}',
    id: 'deleteSession',
    summary: 'Deletes a session. What its forks use of it stays.',
    access: 'write',
    success: { status: 204, description: 'It is gone.' },
    problems: ['session_busy'],
    async handle(call) {
      await call.parts.journal.remove(sessionOf(call));
      return new Response(null, { status: 204 });
    },
  },
];
