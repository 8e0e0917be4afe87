import { TreadleError, type Agent } from '@treadle/core';
import {
  branchesBy,
  fewestTokens,
  firstBranch,
  llmJudge,
  mostTokens,
  onlyBranch,
  pairwiseJudge,
  vote,
  type BranchesOptions,
  type BranchPerformer,
  type BranchStrategy,
  type JudgeOptions,
} from '@treadle/core/branches';
import { withModel } from '@treadle/core/features';
import { RequestError } from '../problem.ts';

/** What choosing among the answers of branches may take from a server. */
export interface BranchSources {
  readonly agents: ReadonlyMap<string, Agent>;
  /** Strategies of the application's own, by the names that requests use. */
  readonly strategies: Readonly<Record<string, BranchStrategy>>;
}

/** The branches of a request, with the agents that it leaves out: what the log keeps, for whichever server drives them. */
export interface BranchesData {
  readonly branches: readonly { readonly agent: string; readonly model?: string }[];
  readonly strategy: string;
  readonly judge: { readonly agent: string; readonly model?: string; readonly instructions?: string };
}

const STRATEGIES: ReadonlyMap<string, (judge: JudgeOptions) => BranchStrategy> = new Map([
  ['only', onlyBranch],
  ['first', firstBranch],
  ['fewest_tokens', fewestTokens],
  ['most_tokens', mostTokens],
  ['vote', () => vote()],
  ['llm_judge', llmJudge],
  ['pairwise_judge', pairwiseJudge],
]);

/** Runs the branches of sessions that a server drives. For the option `branches` of sessions that you open yourself. */
export const serverBranches = (sources: BranchSources): BranchPerformer =>
  branchesBy(({ data }) => {
    if (data) return branchesOf(sources, data as unknown as BranchesData);
    throw new TreadleError('run_active', 'A program asked for these branches. Only its runBranches goes on with them.');
  });

/** The branches of a request. @throws RequestError `bad_request` for what the server doesn't have. */
export function branchesOf(sources: BranchSources, { branches, strategy, judge }: BranchesData): BranchesOptions {
  return {
    branches: branches.map(({ agent: name, model }) => {
      const agent = agentNamed(sources, name);
      withModel(agent.routing, model, undefined);
      return { agent, ...(model !== undefined && { model, configId: model }) };
    }),
    strategy: strategyNamed(sources, strategy, judge),
  };
}

function agentNamed({ agents }: BranchSources, name: string): Agent {
  const agent = agents.get(name);
  if (agent) return agent;
  throw new RequestError(
    'bad_request',
    `There is no agent "${name}". The agents are: ${[...agents.keys()].join(', ')}.`,
  );
}

function strategyNamed(sources: BranchSources, name: string, judge: BranchesData['judge']): BranchStrategy {
  const { strategies } = sources;
  const own = Object.hasOwn(strategies, name) ? strategies[name] : undefined;
  if (own) return own;
  const make = STRATEGIES.get(name);
  if (!make) {
    const known = [...STRATEGIES.keys(), ...Object.keys(strategies)].join(', ');
    throw new RequestError('bad_request', `There is no strategy "${name}". The strategies are: ${known}.`);
  }
  const { models, routing } = agentNamed(sources, judge.agent);
  withModel(routing, judge.model, undefined);
  const model = judge.model === undefined ? models[0] : routing?.models[judge.model];
  if (!model) throw new TreadleError('internal', 'An agent has no model.');
  return make({ model, ...(judge.instructions !== undefined && { instructions: judge.instructions }) });
}
