import { mustBeAtLeastOne, mustBeCount, mustBePositive, mustBeWhole } from '../check-numbers.ts';
import type { Validator } from '../ports/validator.ts';
import { checkDefinition } from './check-definition.ts';
import type { AgentDefinition, NamedPlainTools, QueueMode } from './definition.ts';
import { checkContext, type ContextPolicy } from '../features/compaction/options.ts';
import { recallTool } from '../features/compaction/recall.ts';
import { DEFAULT_RESULT_TOKENS } from '../messages/result-limits.ts';
import type { ConfigSnapshot } from '../events/events.ts';
import { checkMatchers } from '../features/hooks/check-matchers.ts';
import { hookRegistry, type HookRegistry } from '../features/hooks/registry.ts';
import { TreadleError } from '../errors.ts';
import { windowOf } from '../kernel/services/context-window.ts';
import type { Budget } from '../kernel/services/money.ts';
import { checkBudget } from '../features/budget/options.ts';
import { checkLoopDetection, type LoopDetection } from '../features/limits/loop-detection.ts';
import { checkLimits, CLOSING_INSTRUCTION, limitsAsData } from '../features/limits/options.ts';
import type { Limits } from '../events/limits.ts';
import { memorySettings, type MemorySettings } from '../features/memory/settings.ts';
import type { Model, ModelErrorKind, ToolDefinition } from '../model/model.ts';
import { DEFAULT_RETRY, type RetryPolicy } from '../model/retry.ts';
import { checkThinking, thinkingName } from '../model/thinking.ts';
import { defined } from '../json.ts';
import { checkRouting, type Routing } from '../features/routing/routing.ts';
import { checkNoToolCall } from '../features/output/no-call.ts';
import { checkOutputGuardrails, type NamedOutputGuardrail } from '../features/guardrails/output.ts';
import { checkInputGuardrails, type NamedInputGuardrail } from '../features/guardrails/input.ts';
import { checkOutput, type StructuredOutput } from '../features/output/structured.ts';
import { stopTools } from '../tools/stop-tools.ts';
import { OUTPUT_TOOL, isStopToolName } from '../tools/stop-tool-names.ts';
import { checkTurnContext, type TurnContextSettings } from '../features/turn-context/turn-context.ts';
import { checkPermissions, type PermissionConfig } from '../features/permissions/permissions.ts';
import { checkBackground, type BackgroundSettings } from '../features/background/background.ts';
import { checkSubAgents, type AgentSubAgents } from '../features/subagents/limits.ts';
import { checkToolSearch, type ToolSearch } from '../features/tool-search/options.ts';
import { CALL_TOOL_DEFINITION } from '../features/tool-search/request.ts';
import { titleSettings, type TitleSettings } from '../features/titles/options.ts';
import type { SchemaValue, ToolParameters } from '../tools/define/define-types.ts';
import type { Tool } from '../tools/tool.ts';
import type { AgentTypes, HandedTo } from './types.ts';

/** Calls of one turn that run at the same time unless the agent says otherwise. */
export const DEFAULT_CONCURRENCY = 64;

const DEFAULT_FALLBACK_ON: readonly ModelErrorKind[] = ['rate_limited', 'network', 'auth', 'api', 'other'];

type Defaulted =
  | 'id'
  | 'model'
  | 'fallbackOn'
  | 'providerTools'
  | 'maxContinuations'
  | 'steeringMode'
  | 'followUpMode'
  | 'toolExecution'
  | 'toolProgressMs'
  | 'maxToolResultLength'
  | 'maxToolResultTokens';
type AsGiven =
  | 'toolTimeoutMs'
  | 'maxTokens'
  | 'temperature'
  | 'stopSequences'
  | 'thinking'
  | 'cache'
  | 'responseFormat'
  | 'providerOptions';

/** An immutable, checked definition. Sessions share it freely. Null stands for what an agent doesn't have. */
export interface Agent<Types extends AgentTypes = AgentTypes>
  extends Required<Pick<AgentDefinition, Defaulted>>, Readonly<{ [Key in AsGiven]: AgentDefinition[Key] | undefined }> {
  /** Exists for the type checker only. */
  readonly '~types'?: Types;
  /** `model`, then the fallbacks, then what else can be chosen for a turn. */
  readonly models: readonly Model[];
  /** Null when nobody chooses. */
  readonly routing: Routing | null;
  /** What the system prompt always says. */
  readonly instructions: string;
  readonly retry: RetryPolicy;
  readonly projectInstructions: string | null;
  readonly memory: MemorySettings | null;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Null: the definitions of all tools are in the prompt. */
  readonly toolSearch: Omit<ToolSearch, 'tool'> | null;
  /** The same array for the agent's life, so that a wire can serialise it once. */
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly limits: Limits;
  /** The limits that its definition names: the others are the defaults. */
  readonly namedLimits: Partial<Limits>;
  readonly budget: Budget;
  /** The instruction of the closing call; null when there is none. */
  readonly wrapUp: string | null;
  /** Null: off. */
  readonly loopDetection: LoopDetection | null;
  /** Null: core's own. */
  readonly validator: Validator | null;
  readonly hooks: HookRegistry | null;
  /** The reminder for a reply that called no tool; null where such a reply is an answer. */
  readonly requireToolCall: string | null;
  /** Null: off. */
  readonly context: ContextPolicy | null;
  readonly permissions: PermissionConfig;
  readonly outputGuardrails: readonly Required<NamedOutputGuardrail>[] | null;
  readonly output: StructuredOutput | null;
  readonly inputGuardrails: readonly Required<NamedInputGuardrail>[] | null;
  readonly turnContext: TurnContextSettings | null;
  readonly background: BackgroundSettings | null;
  readonly subAgents: AgentSubAgents;
  /** Null: no model is asked for titles. */
  readonly title: TitleSettings | null;
  readonly configSegment: string;
  readonly snapshot: ConfigSnapshot;
}

/** The tools that are given; none where nothing was inferred, and the default stands. */
type ListOf<Tools> = [Tools] extends [NamedPlainTools] ? readonly [] : Extract<Tools, readonly Tool[]>;

const slug = (text: string): string => text.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '') || 'x';

/**
 * Checks a definition and makes it an agent. Cheap: no I/O, nothing is loaded.
 *
 * @throws TreadleError `invalid_definition` when two tools share a name, a number makes no sense, or a key, a rule or a matcher
 * of a hook matches nothing known.
 *
 * @example
 * ```ts
 * import { defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(['Hello.']), instructions: 'Answer briefly.' });
 * console.log(agent.limits.maxTurns); // 50
 * ```
 */
export function defineAgent<
  const Tools extends readonly Tool[] | NamedPlainTools = NamedPlainTools,
  const Schema extends ToolParameters = never,
>(
  definition: AgentDefinition<Tools, Schema>,
): Agent<{
  // Written out, so that declarations of other packages need no names of ours.
  output: SchemaValue<Schema> | HandedTo<ListOf<Tools>>['output'];
  tools: NonNullable<ListOf<Tools>[number]['~types']> | HandedTo<ListOf<Tools>>['tools'];
}>;
export function defineAgent(definition: AgentDefinition): Agent {
  checkDefinition(definition);
  const context = definition.context === false ? null : checkContext(definition.context ?? {});
  const { background, tools: own } = checkBackground(definition.background, definition.tools ?? []);
  const given = [...own, ...(definition.context && context?.recall ? [recallTool()] : [])];
  const hasTools = given.length > 0 || definition.stopTools === true;
  const ownModels = [definition.model, ...(definition.fallbacks ?? [])];
  const { models, routing } = checkRouting(definition.routing, ownModels, hasTools);
  const output = checkOutput(definition.output, models, hasTools);
  if (output && definition.responseFormat) {
    throw new TreadleError('invalid_definition', 'An agent has either output or responseFormat. output does the more.');
  }
  const all = toolMap(given, [
    ...(definition.stopTools === true ? stopTools() : []),
    ...(output?.tool ? [output.tool] : []),
  ]);
  const windows = models.flatMap((model) => windowOf(context, model) ?? []);
  const toolSearch = checkToolSearch(definition.toolSearch, all, windows.length === 0 ? null : Math.min(...windows));
  const tools = toolSearch ? new Map([...all, [toolSearch.tool.name, toolSearch.tool] as const]) : all;
  const permissions = checkPermissions(definition.permissions, tools.values(), definition.knownTools);
  const limits = checkLimits(definition.limits);
  const loopDetection = checkLoopDetection(definition.loopDetection);
  const { wrapUp = false, maxContinuations = 3 } = definition;
  const toolExecution = definition.toolExecution ?? { mode: 'parallel' };
  if (toolExecution.mode === 'parallel')
    mustBeCount('toolExecution.concurrency', toolExecution.concurrency ?? DEFAULT_CONCURRENCY);
  if (toolExecution.mode === 'batched') mustBeCount('toolExecution.size', toolExecution.size);
  const toolProgressMs = definition.toolProgressMs ?? 10_000;
  const maxToolResultLength = definition.maxToolResultLength ?? 2_000_000;
  mustBePositive('toolProgressMs', toolProgressMs);
  mustBeCount('maxToolResultLength', maxToolResultLength);
  const { maxToolResultTokens = DEFAULT_RESULT_TOKENS } = definition;
  mustBeCount('maxToolResultTokens', maxToolResultTokens);
  if (definition.toolTimeoutMs !== undefined) mustBePositive('toolTimeoutMs', definition.toolTimeoutMs);
  if (definition.maxTokens !== undefined) mustBeCount('maxTokens', definition.maxTokens);
  const retry: RetryPolicy = { ...DEFAULT_RETRY, ...definition.retry };
  mustBeWhole('retry.maxRetries', retry.maxRetries);
  mustBeAtLeastOne('retry.multiplier', retry.multiplier);
  const configSegment = slugSegment(definition);
  return Object.freeze({
    id: definition.id ?? 'agent',
    model: definition.model,
    models: Object.freeze([...models]),
    routing,
    fallbackOn: definition.fallbackOn ?? DEFAULT_FALLBACK_ON,
    retry,
    instructions: [typeof definition.instructions === 'string' && definition.instructions, output?.instructions]
      .filter(Boolean)
      .join('\n\n'),
    projectInstructions: definition.projectInstructions?.trim() ? definition.projectInstructions : null,
    tools,
    toolSearch,
    toolDefinitions: toolDefinitions(tools.values(), permissions.removed, toolSearch),
    providerTools: Object.freeze([...(definition.providerTools ?? [])]),
    limits,
    namedLimits: Object.freeze({ ...definition.limits }),
    budget: checkBudget(definition.budget),
    wrapUp: wrapUp === true ? CLOSING_INSTRUCTION : wrapUp === false ? null : wrapUp,
    maxContinuations: mustBeWhole('maxContinuations', maxContinuations),
    loopDetection,
    steeringMode: checkQueueMode('steeringMode', definition.steeringMode),
    followUpMode: checkQueueMode('followUpMode', definition.followUpMode),
    toolExecution: Object.freeze(toolExecution),
    validator: checkValidator(definition.validator),
    toolTimeoutMs: definition.toolTimeoutMs,
    toolProgressMs,
    maxToolResultLength,
    maxToolResultTokens,
    maxTokens: definition.maxTokens,
    temperature: definition.temperature,
    stopSequences: definition.stopSequences,
    thinking: checkThinking(definition.thinking),
    cache: definition.cache,
    responseFormat: output?.responseFormat ?? definition.responseFormat,
    providerOptions: definition.providerOptions,
    hooks: hookRegistry(checkMatchers(definition.hooks, permissions.known)),
    requireToolCall: checkNoToolCall(definition.requireToolCall, tools),
    memory: memorySettings(definition.memory),
    context,
    permissions,
    outputGuardrails: checkOutputGuardrails(definition.outputGuardrails),
    output,
    inputGuardrails: checkInputGuardrails(definition.inputGuardrails),
    turnContext: checkTurnContext(definition.turnContext, definition.instructions),
    background,
    subAgents: checkSubAgents(definition.subAgents),
    title: titleSettings(definition.title, definition.model),
    configSegment,
    snapshot: snapshotOf(definition, models, [...tools.keys()], limits, configSegment),
  });
}

/** What a model is told of tools: not of those that are denied altogether, nor of those that it has to search for. */
export const toolDefinitions = (
  tools: Iterable<Tool>,
  removed: ReadonlySet<string>,
  search: Agent['toolSearch'],
): readonly ToolDefinition[] =>
  Object.freeze([
    ...[...tools]
      .filter(({ name }) => !removed.has(name) && search?.deferred.has(name) !== true)
      .map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    ...(search ? [CALL_TOOL_DEFINITION] : []),
  ]);

function toolMap(tools: readonly Tool[], builtIn: readonly Tool[]): ReadonlyMap<string, Tool> {
  const map = new Map<string, Tool>();
  for (const tool of [...tools, ...builtIn]) {
    if ((isStopToolName(tool.name) || tool.name === OUTPUT_TOOL) && !builtIn.includes(tool)) {
      throw new TreadleError(
        'invalid_definition',
        `"${tool.name}" is the name of a built-in tool. Rename yours, or set stopTools: true for the built-in one.`,
      );
    }
    if (map.has(tool.name)) {
      throw new TreadleError('invalid_definition', `Two tools are named "${tool.name}". Rename one of them.`);
    }
    map.set(tool.name, tool);
  }
  return map;
}

function slugSegment(definition: AgentDefinition): string {
  if (definition.configId !== undefined) return slug(definition.configId);
  const { provider, id } = definition.model;
  const thinking = thinkingName(definition.thinking) ?? 'off';
  return `${slug(provider)}.${slug(id)}${thinking === 'off' ? '' : `.${thinking}`}`;
}

function snapshotOf(
  definition: AgentDefinition,
  models: readonly Model[],
  tools: readonly string[],
  limits: Limits,
  configId: string,
): ConfigSnapshot {
  const { model } = definition;
  return Object.freeze({
    provider: model.provider,
    model: model.id,
    configId,
    ...defined({
      name: model.name,
      thinking: thinkingName(definition.thinking),
      api: model.api,
      baseUrl: model.baseUrl,
    }),
    ...(definition.temperature === undefined ? {} : { temperature: definition.temperature }),
    ...(definition.maxTokens === undefined ? {} : { maxTokens: definition.maxTokens }),
    ...(model.contextWindow === undefined ? {} : { contextWindow: model.contextWindow }),
    ...(models.length === 1 ? {} : { models: models.map(({ provider, id }) => ({ provider, model: id })) }),
    tools,
    limits: limitsAsData(limits),
    ...(definition.loopDetection === false ? { loopDetection: false as const } : {}),
  });
}

function checkValidator(validator: Validator | null = null): Validator | null {
  if (validator === null || typeof validator.compile === 'function') return validator;
  throw new TreadleError('invalid_definition', 'validator must have a method `compile`, as re2Validator() has.');
}

function checkQueueMode(name: string, mode: QueueMode = 'one_at_a_time'): QueueMode {
  if (mode === 'one_at_a_time' || mode === 'all') return mode;
  throw new TreadleError('invalid_definition', `${name} must be 'one_at_a_time' or 'all', and it is ${String(mode)}.`);
}
