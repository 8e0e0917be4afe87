import type { UserInput } from '@treadle/core';
import { branchesInput } from '@treadle/core/branches';
import { branchesOf, type BranchesData } from '../dispatch/branches.ts';
import { RequestError } from '../problem.ts';
import { post, type Accepted, type Caller } from './post.ts';
import { agentOf, refuseBesideRun, refuseContinue } from './runs.ts';
import type { BranchesRequest } from './schemas.ts';

/** Starts a run that branches do. @throws RequestError `bad_request`; TreadleError `run_active`, `nothing_to_continue` */
export async function runBranches(
  caller: Caller,
  sessionId: string,
  { input, ...request }: BranchesRequest & { readonly input?: UserInput },
): Promise<Accepted> {
  const { parts } = caller;
  const own = (await agentOf(parts, sessionId)).id;
  const { branches, strategy = 'only', judge = {}, metadata } = request;
  if (branches.length > parts.limits.branches)
    throw new RequestError('bad_request', `A run may have ${parts.limits.branches} branches, not ${branches.length}.`);
  const data: BranchesData = {
    branches: branches.map((branch) => ({ agent: own, ...branch })),
    strategy,
    judge: { agent: own, ...judge },
  };
  const options = branchesOf(parts.branchSources, data);
  const asked = await branchesInput({
    ...options,
    data: { ...data },
    ...(input !== undefined && { prompt: input }),
    ...(metadata && { metadata }),
  });
  return post(caller, sessionId, asked, (state) =>
    asked.messages.length > 0 ? refuseBesideRun(state) : (refuseBesideRun(state) ?? refuseContinue(state)),
  );
}
