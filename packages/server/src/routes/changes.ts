import { TreadleError } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import { checkUpdates } from '@treadle/core/features';
import { checkMessages } from '@treadle/core/messages';
import { sessionStatus } from '@treadle/core/session';
import { post } from '../operations/post.ts';
import { agentOf } from '../operations/runs.ts';
import * as schemas from '../operations/schemas.ts';
import { RequestError } from '../problem.ts';
import { accepted, type Route, type RouteCall } from './serving/route.ts';

const success = { status: 202, description: 'It is in the log.' } as const;

async function replace(call: RouteCall, given: unknown): Promise<Response> {
  const { clock, ids } = call.parts;
  const messages = checkMessages(given, { at: clock.now(), id: () => ids.create('msg') });
  const input: SessionInput = { type: 'import', messages };
  const done = await post(call, call.sessionId, input, (state) =>
    sessionStatus(state) === 'idle'
      ? null
      : new TreadleError('run_active', 'A run of this session is open. Wait for its end, or cancel it.'),
  );
  return accepted(done);
}

/** @throws RequestError `forbidden`, `bad_request`. */
async function grant(call: RouteCall): Promise<Response> {
  const { parts, principal, sessionId, body } = call;
  if (principal.mayGrant !== true)
    throw new RequestError('forbidden', 'This token may not change what sessions are allowed to do (`mayGrant`).');
  const { permissions } = await agentOf(parts, sessionId);
  const offered = (await parts.states.of(sessionId)).run?.clientTools ?? [];
  const known = [...permissions.known, ...offered.map(({ name }) => name)];
  const updates = checkUpdates(body['updates'], permissions.allowBypass, known);
  // Settings files are the machine's, and nobody here may write them.
  if (updates.some(({ destination }) => destination !== 'session'))
    throw new RequestError('bad_request', 'Updates over HTTP are for the session. Use the destination "session".');
  return accepted(await post(call, sessionId, { type: 'permission_updates', updates }));
}

/** What changes a session beside its runs. */
export const CHANGE_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/compact',
    id: 'compact',
    summary: 'Makes the view smaller: at once, or before the open run’s next model call.',
    body: schemas.compaction,
    success,
    handle: async (call) => accepted(await post(call, call.sessionId, { type: 'compact', ...call.body })),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/import',
    id: 'importMessages',
    summary: 'Replaces the conversation. The log keeps what happened.',
    body: schemas.conversation,
    success,
    problems: ['run_active', 'invalid_messages'],
    handle: (call) => replace(call, call.body['messages']),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/reset',
    id: 'resetSession',
    summary: 'Forgets the conversation. The log keeps what happened.',
    success,
    problems: ['run_active'],
    handle: (call) => replace(call, []),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/permissions',
    id: 'updatePermissions',
    summary: 'Changes what the session may do: rules, the mode, folders. Only with a token that may grant rights.',
    body: schemas.permissions,
    success,
    problems: ['invalid_definition'],
    handle: grant,
  },
];
