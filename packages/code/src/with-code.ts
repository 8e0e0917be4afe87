import { asTool, defineAgent, type AgentDefinition, type Tool } from '@treadle/core';
import { jsonCheck } from '@treadle/core/tools';
import { scriptModel } from './script-model.ts';

/** What scripts may use. Each has a default that suits most agents. */
export interface CodeOptions {
  /** Milliseconds that a script may compute from its beginning on. Waiting for tools doesn't count. Default 10,000. */
  readonly timeoutMs?: number;
  /** Milliseconds that a call of `run_code` may take in all, pauses left out. Default 600,000. */
  readonly maxDurationMs?: number;
  /** Bytes of memory of a script. Default 64 MiB. */
  readonly memoryBytes?: number;
  /** Characters that a script prints and returns, and the model reads. Default 20,000. */
  readonly maxOutputLength?: number;
  /** Tool calls of one script. Default 1,000. */
  readonly maxToolCalls?: number;
  /** Calls that run at the same time. Default 20. */
  readonly concurrency?: number;
}

/** The tool that runs a script. */
export const RUN_CODE = 'run_code';

const SCHEMA = {
  type: 'object',
  properties: {
    code: {
      type: 'string',
      minLength: 1,
      description: 'The body of an async JavaScript function. What it returns and what console.log prints comes back.',
    },
  },
  required: ['code'],
  additionalProperties: false,
} as const;

const describe = (names: readonly string[]): string =>
  'Runs JavaScript in a sandbox in which your tools are async functions: `await tools.NAME({ … })`, with the same ' +
  'arguments. A result that is JSON comes as a value, any other as text; a failed call throws. Use it for loops, for many ' +
  'calls, and for results that you need only a part of: only what the code returns or prints comes back to you. ' +
  'Promise.all runs calls at the same time. There is no network, no file system and no import. ' +
  `The functions: ${names.join(', ')}.`;

/** Fields of an agent's definition that hold for calls, wherever they are made. */
type ForCalls = Pick<
  AgentDefinition,
  'permissions' | 'validator' | 'toolTimeoutMs' | 'toolProgressMs' | 'maxToolResultLength' | 'knownTools' | 'budget'
>;

/**
 * An agent's definition with the tool `run_code`. In its scripts each of the agent's tools is a function, except those that end
 * a run, hand over, or are agents. A call in a script is an ordinary call: rules, hooks and approvals hold, and it is in the log.
 * The log is that of a session of its own, below the agent's.
 *
 * @throws TreadleError `invalid_definition`
 * @example
 * ```ts
 * import { createSession, defineAgent, defineTool } from '@treadle/core';
 * import { withCode } from '@treadle/code';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const price = defineTool({
 *   name: 'price',
 *   description: 'The price of an article.',
 *   inputSchema: { type: 'object', properties: { article: { type: 'number' } }, required: ['article'] },
 *   execute: ({ article }) => ({ price: article * 2 }),
 * });
 * const code = 'let sum = 0; for (const article of [1, 2, 3]) sum += (await tools.price({ article })).price; return sum;';
 * const model = scriptedModel([{ toolCalls: [{ name: 'run_code', arguments: { code } }] }, 'They cost 12.']);
 * const session = await createSession(defineAgent(withCode({ model, tools: [price] })));
 * console.log((await session.prompt('What do they cost?').result).text); // They cost 12.
 * ```
 */
export function withCode<Definition extends Omit<AgentDefinition, 'tools'> & { readonly tools?: readonly Tool[] }>(
  definition: Definition,
  options: CodeOptions = {},
): Definition & { readonly tools: readonly Tool[] } {
  const { tools = [] } = definition;
  return { ...definition, tools: [...tools, codeTool(definition, tools, options)] };
}

function codeTool(definition: ForCalls, tools: readonly Tool[], options: CodeOptions): Tool {
  const { timeoutMs = 10_000, memoryBytes = 64 * 1024 * 1024, maxOutputLength = 20_000, concurrency = 20 } = options;
  const { maxDurationMs = 600_000, maxToolCalls = 1000 } = options;
  const { permissions, validator, toolTimeoutMs, toolProgressMs, maxToolResultLength, knownTools, budget } = definition;
  const forCalls: ForCalls = Object.fromEntries(
    Object.entries({
      permissions,
      validator,
      toolTimeoutMs,
      toolProgressMs,
      maxToolResultLength,
      knownTools,
      budget,
    }).filter(([, value]) => value !== undefined),
  );
  const callable = tools.filter(({ endsRun, handsOff, delegates }) => !endsRun && !handsOff && !delegates);
  const agent = defineAgent({
    ...forCalls,
    id: RUN_CODE,
    model: scriptModel({ timeoutMs, memoryBytes, maxOutputLength, concurrency }),
    tools: callable,
    toolExecution: { mode: 'parallel', concurrency },
    // Nothing of it goes to a model.
    context: false,
    toolSearch: false,
    loopDetection: false,
    maxToolResultTokens: Number.MAX_SAFE_INTEGER,
  });
  const base = asTool(agent, {
    name: RUN_CODE,
    description: describe(callable.map(({ name }) => name)),
    limits: { maxTurns: Infinity, maxTotalTokens: Infinity, maxToolCalls, maxDurationMs, warnAt: 1 },
  });
  return Object.freeze({
    ...base,
    inputSchema: SCHEMA,
    check: jsonCheck(SCHEMA),
    deferLoading: false,
    delegates: (args: unknown): object => ({
      ...base.delegates?.({ prompt: (args as { readonly code: string }).code }),
      isPlain: true,
    }),
  });
}
