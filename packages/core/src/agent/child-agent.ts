import type { Agent } from './agent.ts';
import { askHooks } from '../features/hooks/ask.ts';
import { ABOUT_TOOLS } from '../features/hooks/events.ts';
import { defineHook, type Hook, type HookAnswer, type HookContext, type HookEvent } from '../features/hooks/hook.ts';
import type { HookDecision } from '../kernel/services/hook-decision.ts';
import { hookRegistry, type HookRegistry } from '../features/hooks/registry.ts';
import type { Rights } from '../features/permissions/permissions.ts';
import type { Clock } from '../ports/clock.ts';
import { depthOfChild } from '../features/subagents/limits.ts';
import { drawingOn, type Purse } from '../ports/purse.ts';
import type { Delegation } from '../features/subagents/delegation.ts';

/** Who starts a sub-agent. */
export interface ParentAgent {
  readonly agent: Agent;
  readonly sessionId: string;
  readonly runId: string;
  /** What it may do now, and those above it. */
  readonly rights: () => readonly Rights[];
  /** What is left of its run's money; null when that isn't limited. */
  readonly purse: Purse | null;
  readonly clock: Clock;
  readonly warn: (code: string, message: string) => void;
}

/** An agent as it is as somebody's sub-agent: with the rights, the gates and the money of those above it. */
export function childAgent(parent: ParentAgent, { agent, agentType, grants }: Delegation): Agent {
  const { permissions } = agent;
  const above = parent.agent.permissions;
  const maxDepth = depthOfChild(parent.agent.subAgents, agent.subAgents);
  return Object.freeze({
    ...agent,
    permissions: Object.freeze({
      ...permissions,
      allowBypass: permissions.allowBypass,
      inherited: parent.rights,
      grants,
      canUseTool: permissions.canUseTool ?? above.canUseTool,
      callbackTimeoutMs: permissions.canUseTool ? permissions.callbackTimeoutMs : above.callbackTimeoutMs,
      saveUpdate: permissions.saveUpdate ?? above.saveUpdate,
    }),
    hooks: childHooks(parent.agent.hooks, agent.hooks, boundaryHooks(parent, agentType)),
    budget: { ...agent.budget, ledger: drawingOn(parent.purse, [parent.agent.budget.ledger, agent.budget.ledger]) },
    subAgents: Object.freeze({ ...agent.subAgents, maxDepth }),
    // A model is not told of what it can't do.
    toolDefinitions:
      maxDepth > 0 || ![...agent.tools.values()].some(({ delegates }) => delegates)
        ? agent.toolDefinitions
        : Object.freeze(agent.toolDefinitions.filter(({ name }) => !agent.tools.get(name)?.delegates)),
  });
}

/** Hooks about calls stand guard over those of sub-agents too; those about prompts, turns and runs are about one agent. */
const INHERITED: ReadonlySet<HookEvent> = new Set([...ABOUT_TOOLS, 'subagent_start', 'subagent_stop']);

function childHooks(parent: HookRegistry | null, own: HookRegistry | null, more: readonly Hook[]): HookRegistry | null {
  const added = hookRegistry(more);
  if (!parent && !added) return own;
  return {
    has: (event, subject) =>
      (INHERITED.has(event) && parent?.has(event, subject) === true) ||
      own?.has(event, subject) === true ||
      added?.has(event, subject) === true,
    matching: (input) => [
      ...(INHERITED.has(input.event) ? (parent?.matching(input) ?? []) : []),
      ...(added?.matching(input) ?? []),
      ...(own?.matching(input) ?? []),
    ],
  };
}

/** Milliseconds: the hooks that are asked have their own times, and this one must not end before them. */
const LONG = 2 ** 31 - 1;

/** What the parent's hooks say to the start and the end of a sub-agent, as hooks of the sub-agent. */
function boundaryHooks(parent: ParentAgent, agentType: string): readonly Hook[] {
  const { hooks } = parent.agent;
  if (!hooks) return [];
  const { sessionId, runId } = parent;
  const common = { sessionId, agentId: parent.agent.id, runId, agentType };
  const environment = ({ signal, messages, permissionMode }: HookContext) => ({
    permissionMode,
    clock: parent.clock,
    signal,
    messages,
    warn: parent.warn,
  });
  const made: Hook[] = [];
  if (hooks.has('subagent_start', agentType)) {
    const ask = async (input: { readonly runId?: string }, context: HookContext): Promise<HookAnswer> => {
      const childRunId = input.runId ?? '';
      return answerOf(await askHooks(hooks, { event: 'subagent_start', ...common, childRunId }, environment(context)));
    };
    made.push(defineHook('before_run', ask, { name: 'subagent_start', timeoutMs: LONG }));
  }
  if (hooks.has('subagent_stop', agentType)) {
    const ask = async (
      input: { readonly runId?: string; readonly text: string; readonly stopHookActive: boolean },
      context: HookContext,
    ): Promise<HookAnswer> => {
      const { runId: childRunId = '', text, stopHookActive } = input;
      const transcript = context.messages;
      const told = {
        event: 'subagent_stop',
        ...common,
        childRunId,
        text: text,
        stopHookActive,
        transcript,
      } as const;
      return answerOf(await askHooks(hooks, told, environment(context)));
    };
    made.push(defineHook('stop', ask, { name: 'subagent_stop', timeoutMs: LONG }));
  }
  return made;
}

const answerOf = ({ decision, reason, context, endRun }: HookDecision): HookAnswer => ({
  decision,
  ...(reason === undefined ? {} : { reason }),
  ...(context === undefined ? {} : { context }),
  ...(endRun === undefined ? {} : { endRun }),
});
