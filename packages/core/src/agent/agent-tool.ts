import type { Agent } from './agent.ts';
import { TreadleError } from '../errors.ts';
import type { Limits } from '../events/limits.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { defineTool } from '../tools/define/define.ts';
import type { Tool } from '../tools/tool.ts';
import { checkLimits } from '../features/limits/options.ts';
import { loadRule } from '../features/permissions/rules/load.ts';
import type { RuleInput } from '../features/permissions/rules/rule.ts';
import type { Delegation } from '../features/subagents/delegation.ts';

/** How an agent is used as a sub-agent. */
export interface SubAgentOptions {
  /** Limits of its runs that differ from those its definition names. Default: 10 turns and 300,000 ms. */
  readonly limits?: Partial<Limits>;
  /**
   * Rules of what it may do besides: without them it may do no more than the agent that starts it. What is denied to any
   * agent above it stays denied, and what must be asked for is still asked for.
   */
  readonly grants?: readonly RuleInput[];
}

/** An agent that others can be given as a sub-agent, and when to use it. */
export interface SubAgentDefinition extends SubAgentOptions {
  readonly agent: Agent;
  /** Told to the model that chooses: what the agent is for. */
  readonly description: string;
}

/** Options of {@link asTool}. */
export interface AgentToolOptions extends SubAgentOptions {
  /** The tool's name. Default: the agent's id. */
  readonly name?: string;
  /** Told to the model: what the agent is for, and when to use it. */
  readonly description: string;
}

const PROMPT = {
  type: 'string',
  minLength: 1,
  description:
    'The task. The agent knows nothing of this conversation: say all it needs to know, and what it is to report.',
} as const;

const DESCRIPTION = { type: 'string', description: 'The task in three to five words, for people.' } as const;

const RESUME = {
  type: 'string',
  description: 'The session of an agent you have called before, to go on with it: it knows what was said there.',
} as const;

function needsTheLoop(): never {
  throw new TreadleError('internal', 'An agent is run by the loop, and not by its tool.');
}

/** The call itself changes nothing: what its agent does is decided on by itself. It finds its agent again, so it is safe. */
const ALIKE = { replay: 'safe', readOnly: true, execute: needsTheLoop } as const;

/**
 * An agent as a tool. A call starts a session of its own, with nothing but the prompt; only its final message comes back.
 *
 * @throws TreadleError `invalid_definition` for a name, a limit or a rule that can't be used.
 * @example
 * ```ts
 * import { asTool, createSession, defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const reader = defineAgent({ id: 'reader', model: scriptedModel(['It is about tides.']) });
 * const model = scriptedModel([
 *   { toolCalls: [{ name: 'reader', arguments: { prompt: 'What is notes.txt about?' } }] },
 *   'The notes are about tides.',
 * ]);
 * const agent = defineAgent({ model, tools: [asTool(reader, { description: 'Reads a file and sums it up.' })] });
 *
 * const session = await createSession(agent);
 * console.log((await session.prompt('What are my notes about?').result).text); // The notes are about tides.
 * ```
 */
export function asTool(agent: Agent, options: AgentToolOptions): Tool {
  const { name = agent.id, description } = options;
  const use = checkedUse(name, agent, options);
  const tool = defineTool({
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { prompt: PROMPT, description: DESCRIPTION, resume: RESUME },
      required: ['prompt'],
      additionalProperties: false,
    },
    ...ALIKE,
  });
  return delegating(tool, [agent], (args) => ({ agentType: agent.id, agent, ...use, ...said(args) }));
}

/** Agents by their types. */
export type SubAgentDefinitions = Readonly<Record<string, SubAgentDefinition>>;

/**
 * The tool `agent`: the model chooses one of several agents by its type.
 *
 * @throws TreadleError `invalid_definition` when there is none, or one can't be used.
 * @example
 * ```ts
 * import { agentsTool, defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const reader = defineAgent({ id: 'reader', model: scriptedModel(['It is short.']) });
 * const writer = defineAgent({ id: 'writer', model: scriptedModel(['It is written.']) });
 * const tool = agentsTool({
 *   reader: { agent: reader, description: 'Reads files and sums them up.' },
 *   writer: { agent: writer, description: 'Writes what it is told to.', limits: { maxTurns: 20 } },
 * });
 * console.log(tool.name, tool.description.includes('- reader: Reads files and sums them up.')); // agent true
 * ```
 */
export function agentsTool(definitions: SubAgentDefinitions, options: { readonly name?: string } = {}): Tool {
  const { name = 'agent' } = options;
  const uses = new Map(
    Object.entries(definitions).map(([type, definition]) => [
      type,
      { agentType: type, agent: definition.agent, ...checkedUse(type, definition.agent, definition) },
    ]),
  );
  const types = [...uses.keys()];
  if (types.length === 0) throw new TreadleError('invalid_definition', `${name} has no agents. Define at least one.`);
  const list = types.map((type) => `- ${type}: ${definitions[type]?.description ?? ''}`);
  const tool = defineTool({
    name,
    description:
      'Gives a task to another agent, which works on it by itself and reports back with one message. ' +
      `Several calls in one turn run side by side. The agents:\n${list.join('\n')}`,
    inputSchema: {
      type: 'object',
      properties: {
        subagent_type: { type: 'string', enum: types, description: 'Which agent.' },
        prompt: PROMPT,
        description: DESCRIPTION,
        resume: RESUME,
      },
      required: ['subagent_type', 'prompt'],
      additionalProperties: false,
    },
    ...ALIKE,
  });
  const agents = Object.values(definitions).map(({ agent }) => agent);
  return delegating(tool, agents, (args) => {
    const use = uses.get(textOf(args['subagent_type']));
    if (!use) throw new TreadleError('internal', 'No agent is of that type.');
    return { ...use, ...said(args) };
  });
}

function delegating(tool: Tool, agents: readonly Agent[], choose: (args: JsonObject) => Delegation): Tool {
  const { execute: _, ...rest } = tool;
  const toolsBehind = new Set(agents.flatMap(({ permissions }) => [...permissions.known]));
  return Object.freeze({ ...rest, toolsBehind, delegates: (args: unknown): object => choose(args as JsonObject) });
}

function said(args: JsonObject): Pick<Delegation, 'prompt' | 'resume'> {
  const { prompt, resume } = args;
  return { prompt: textOf(prompt), resume: textOf(resume) || null };
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

function checkedUse(
  name: string,
  { permissions }: Agent,
  { limits = {}, grants = [] }: SubAgentOptions,
): Pick<Delegation, 'limits' | 'grants'> {
  checkLimits(limits);
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw new TreadleError(
      'invalid_definition',
      `A sub-agent needs a name of 1 to 64 letters, digits, "_" or "-", and ${JSON.stringify(name)} is none.`,
    );
  }
  return { limits, grants: grants.map((rule) => loadRule(rule, 'allow', 'agent', permissions.known)) };
}
