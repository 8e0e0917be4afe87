import { mustBeWhole } from '../../check-numbers.ts';
import type { Limits } from '../../events/limits.ts';

/** How many sub-agents an agent may have, and how deep. */
export interface SubAgentLimits {
  /**
   * How deep sub-agents may be nested below this agent: with 1 they have none themselves, with 0 there are none. An agent
   * that is a sub-agent has at most what is left of those above it. Default: what those above it leave, else 1.
   */
  readonly maxDepth: number;
  /** Sub-agents that one run may start. Default 16. */
  readonly maxChildren: number;
}

/** As an agent has them: without a depth of its own, those above it decide. */
export interface AgentSubAgents {
  readonly maxDepth: number | null;
  readonly maxChildren: number;
}

/** How deep sub-agents are nested below an agent that is nobody's, when it doesn't say. */
const DEFAULT_MAX_DEPTH = 1;
const DEFAULT_MAX_CHILDREN = 16;

/** Limits of a sub-agent's run where neither its definition nor its tool names others. */
export const SUB_AGENT_LIMITS: Partial<Limits> = Object.freeze({ maxTurns: 10, maxDurationMs: 300_000 });

/** @throws TreadleError `invalid_definition`. */
export function checkSubAgents({ maxDepth, maxChildren }: Partial<SubAgentLimits> = {}): AgentSubAgents {
  return Object.freeze({
    maxDepth: maxDepth === undefined ? null : mustBeWhole('subAgents.maxDepth', maxDepth),
    maxChildren: mustBeWhole('subAgents.maxChildren', maxChildren ?? DEFAULT_MAX_CHILDREN),
  });
}

/** How many levels of sub-agents an agent may have below it. */
export const depthBelow = ({ maxDepth }: AgentSubAgents): number => maxDepth ?? DEFAULT_MAX_DEPTH;

/** What a sub-agent has of it. */
export const depthOfChild = (parent: AgentSubAgents, child: AgentSubAgents): number =>
  Math.max(0, Math.min(depthBelow(parent) - 1, child.maxDepth ?? Infinity));
