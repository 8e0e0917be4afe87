import { runBranches } from '../operations/branches.ts';
import * as schemas from '../operations/schemas.ts';
import { begun } from './again.ts';
import type { Route } from './serving/route.ts';

/** Several ways side by side, of which one is adopted. */
export const BRANCH_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/branches',
    id: 'runBranches',
    summary: 'Tries several agents or models side by side, and adopts the branch that a strategy chooses.',
    body: schemas.branches,
    success: {
      status: 202,
      description:
        'The request is in the log; `runId` names the run once it has begun. With `accept: text/event-stream`, its ' +
        'stream, which tells what branches do as `branch_event`.',
    },
    problems: ['run_active', 'nothing_to_continue', 'ends_with_assistant', 'idempotency_mismatch'],
    async handle(call) {
      const { sessionId } = call;
      const request = call.body as unknown as Parameters<typeof runBranches>[2];
      return begun(call, { sessionId, ...(await runBranches(call, sessionId, request)) });
    },
  },
];
