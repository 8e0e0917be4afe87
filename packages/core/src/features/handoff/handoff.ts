import type { Agent } from '../../agent/agent.ts';
import type { AgentTypes } from '../../agent/types.ts';
import { TreadleError } from '../../errors.ts';
import { defineTool } from '../../tools/define/define.ts';
import type { Handoff, Tool } from '../../tools/tool.ts';

/** Options of {@link handoffTool}. */
export interface HandoffOptions extends Pick<Handoff, 'filter'> {
  /** Told to the model: when the other agent is to take over. */
  readonly description: string;
  /** Default: `hand_off_to_` and the agent's id. */
  readonly name?: string;
}

/**
 * A stop tool that hands the session over to an agent, given by itself or by its id: the run ends with the call, and the other agent drives the session from
 * the next run on, `continue()` included. The session must be created and opened with that agent among its `agents`.
 *
 * @throws TreadleError `invalid_definition` for a name that can't be used.
 * @example
 * ```ts
 * import { createSession, defineAgent, handoffTool } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const billing = defineAgent({ id: 'billing', model: scriptedModel(['Your invoice is on its way.']) });
 * const desk = defineAgent({
 *   id: 'desk',
 *   model: scriptedModel([{ toolCalls: [{ name: 'hand_off_to_billing', arguments: { message: 'Wants an invoice.' } }] }]),
 *   tools: [handoffTool(billing, { description: 'For questions about invoices.' })],
 * });
 *
 * const session = await createSession(desk, { agents: [billing] });
 * await session.prompt('I need an invoice.').result;
 * console.log(session.agent.id, (await session.continue().result).text); // billing Your invoice is on its way.
 * ```
 */
export function handoffTool<Types extends AgentTypes = AgentTypes>(
  agent: string | Agent<Types>,
  { description, name, filter }: HandoffOptions,
): Tool<{ name: string; input: unknown; details: undefined; context: unknown; handsTo: Types }> {
  const agentId = typeof agent === 'string' ? agent : agent.id;
  const tool = defineTool({
    name: name ?? `hand_off_to_${agentId}`,
    description,
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string', description: 'What the other agent should know.' } },
      additionalProperties: false,
    },
    endsRun: true,
    readOnly: true,
    execute: ({ message }) => message ?? `Handed over to ${agentId}.`,
  });
  const { '~types': _, ...rest } = tool;
  return Object.freeze({ ...rest, handsOff: { agentId, ...(filter ? { filter } : {}) } });
}

/** The agent that drives a session now: the one it is opened with, or the one it was handed over to. */
export function drivingAgent(first: Agent, others: readonly Agent[], drivenBy: string | null): Agent {
  const found = drivenBy === null ? first : [first, ...others].find(({ id }) => id === drivenBy);
  if (found) return found;
  throw new TreadleError(
    'invalid_definition',
    `The session was handed over to the agent ${drivenBy}, which it was not opened with. Pass it in \`agents\`.`,
  );
}
