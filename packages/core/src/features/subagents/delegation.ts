import type { Agent } from '../../agent/agent.ts';
import type { Limits } from '../../events/limits.ts';
import type { PermissionRule } from '../../tools/permission-rule.ts';
import type { Tool } from '../../tools/tool.ts';

/** What a call of an agent's tool asks for. */
export interface Delegation {
  readonly agentType: string;
  readonly agent: Agent;
  readonly prompt: string;
  /** The session of an earlier sub-agent to go on with; null for a new one. */
  readonly resume: string | null;
  readonly limits: Partial<Limits>;
  readonly grants: readonly PermissionRule[];
  /** True: its caller reads its final message alone, without a way to go on with it. */
  readonly isPlain?: boolean;
}

/** What a call of the tool asks for; null for other tools. */
export const delegationOf = ({ delegates }: Tool, args: unknown): Delegation | null =>
  delegates ? (delegates(args) as Delegation) : null;
