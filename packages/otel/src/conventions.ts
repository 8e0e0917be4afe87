import type { JsonValue, StopReason, Usage } from '@treadle/core';
import type { Attributes } from '@opentelemetry/api';

/**
 * Versions of OpenTelemetry's semantic conventions that can be written. `1.36` is the one before the provider's attribute
 * and values were renamed; `1.41` is the newest one here.
 */
export type ConventionsVersion = '1.36' | '1.41';

/** What is known of an operation, in words of our own. Whatever is absent is not written. */
export type Facts = { readonly [Name in keyof FactValues]: FactValues[Name] | undefined };

interface FactValues {
  readonly operation?: 'invoke_agent' | 'chat' | 'execute_tool';
  readonly provider?: string;
  readonly requestModel?: string;
  readonly responseModel?: string;
  readonly responseId?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly finishReason?: string;
  readonly usage?: Usage;
  readonly tokenType?: 'input' | 'output';
  readonly sessionId?: string;
  readonly agentId?: string;
  readonly toolName?: string;
  readonly callId?: string;
  readonly errorType?: string;
  /** Content: only when it was asked for. */
  readonly inputMessages?: JsonValue;
  readonly outputMessages?: JsonValue;
  readonly toolArguments?: JsonValue;
  readonly toolResult?: JsonValue;
  readonly runId?: string;
  readonly runStatus?: string;
  readonly runPaused?: string;
  readonly runContinued?: true;
  readonly turns?: number;
  readonly turnIndex?: number;
  readonly attempt?: number;
  readonly retryDelayMs?: number;
  readonly taskId?: string;
  readonly tool?: 'client' | 'paused' | 'skipped';
  readonly reason?: string;
  /** US dollars. */
  readonly cost?: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly branches?: readonly string[];
  readonly selectedBranch?: string;
}

interface Row {
  /** The attribute's name: one for all versions, or one per version; a version without one doesn't know it. */
  readonly name: string | Partial<Readonly<Record<ConventionsVersion, string>>>;
  readonly value: (facts: Facts, version: ConventionsVersion) => string | number | boolean | string[] | undefined;
}

type Providers = Readonly<Record<string, string | Readonly<Record<ConventionsVersion, string>>>>;

/** Providers whose well-known name is not ours. */
const PROVIDERS: Providers = {
  'openai-responses': 'openai',
  azure: { '1.36': 'az.ai.openai', '1.41': 'azure.ai.openai' },
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  gemini: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  xai: { '1.36': 'xai', '1.41': 'x_ai' },
};

function providerName(provider: string | undefined, version: ConventionsVersion): string | undefined {
  if (provider === undefined) return undefined;
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  return typeof known === 'object' ? known[version] : (known ?? provider);
}

/** What was read, from a cache or not: ours counts the parts apart. */
export function inputTokens({ input, cacheRead, cacheWrite }: Usage): number | undefined {
  return input === null ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0);
}

const json = (value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value);

const same = (name: string): Row['name'] => name;
const since141 = (name: string): Row['name'] => ({ '1.41': name });

/** Every attribute that is ever written: its name in each version, and where its value comes from. */
const TABLE: readonly Row[] = [
  { name: same('gen_ai.operation.name'), value: (facts) => facts.operation },
  {
    name: { '1.36': 'gen_ai.system', '1.41': 'gen_ai.provider.name' },
    value: (facts, version) => providerName(facts.provider, version),
  },
  { name: same('gen_ai.request.model'), value: (facts) => facts.requestModel },
  { name: same('gen_ai.request.temperature'), value: (facts) => facts.temperature },
  { name: same('gen_ai.request.max_tokens'), value: (facts) => facts.maxTokens },
  { name: same('gen_ai.response.model'), value: (facts) => facts.responseModel },
  { name: same('gen_ai.response.id'), value: (facts) => facts.responseId },
  {
    name: same('gen_ai.response.finish_reasons'),
    value: ({ finishReason }) => (finishReason === undefined ? undefined : [finishReason]),
  },
  { name: same('gen_ai.usage.input_tokens'), value: ({ usage }) => usage && inputTokens(usage) },
  { name: same('gen_ai.usage.output_tokens'), value: ({ usage }) => usage?.output ?? undefined },
  { name: since141('gen_ai.usage.cache_read.input_tokens'), value: ({ usage }) => usage?.cacheRead ?? undefined },
  { name: since141('gen_ai.usage.cache_creation.input_tokens'), value: ({ usage }) => usage?.cacheWrite ?? undefined },
  { name: same('gen_ai.token.type'), value: (facts) => facts.tokenType },
  { name: same('gen_ai.conversation.id'), value: (facts) => facts.sessionId },
  { name: same('gen_ai.agent.id'), value: (facts) => facts.agentId },
  { name: same('gen_ai.agent.name'), value: (facts) => facts.agentId },
  { name: same('gen_ai.tool.name'), value: (facts) => facts.toolName },
  { name: same('gen_ai.tool.call.id'), value: (facts) => facts.callId },
  {
    name: same('gen_ai.tool.type'),
    value: (facts) => (facts.operation === 'execute_tool' ? 'function' : undefined),
  },
  { name: same('error.type'), value: (facts) => facts.errorType },
  { name: since141('gen_ai.input.messages'), value: (facts) => json(facts.inputMessages) },
  { name: since141('gen_ai.output.messages'), value: (facts) => json(facts.outputMessages) },
  { name: since141('gen_ai.tool.call.arguments'), value: (facts) => json(facts.toolArguments) },
  { name: since141('gen_ai.tool.call.result'), value: (facts) => json(facts.toolResult) },
  { name: same('treadle.run.id'), value: (facts) => facts.runId },
  { name: same('treadle.run.status'), value: (facts) => facts.runStatus },
  { name: same('treadle.run.paused'), value: (facts) => facts.runPaused },
  { name: same('treadle.run.continued'), value: (facts) => facts.runContinued },
  { name: same('treadle.run.turns'), value: (facts) => facts.turns },
  { name: same('treadle.turn.index'), value: (facts) => facts.turnIndex },
  { name: same('treadle.attempt'), value: (facts) => facts.attempt },
  { name: same('treadle.retry.delay_ms'), value: (facts) => facts.retryDelayMs },
  { name: same('treadle.task.id'), value: (facts) => facts.taskId },
  { name: same('treadle.tool'), value: (facts) => facts.tool },
  { name: same('treadle.reason'), value: (facts) => facts.reason },
  { name: same('treadle.cost'), value: (facts) => facts.cost },
  { name: same('treadle.tokens.before'), value: (facts) => facts.tokensBefore },
  { name: same('treadle.tokens.after'), value: (facts) => facts.tokensAfter },
  { name: same('treadle.branches'), value: ({ branches }) => branches && [...branches] },
  { name: same('treadle.branches.selected'), value: (facts) => facts.selectedBranch },
];

/** Writes facts as the attributes of a version. Texts go through `clean`. */
export function attributesOf(facts: Facts, version: ConventionsVersion, clean: (text: string) => string): Attributes {
  const attributes: Attributes = {};
  for (const row of TABLE) {
    const name = typeof row.name === 'string' ? row.name : row.name[version];
    const value = name === undefined ? undefined : row.value(facts, version);
    if (name === undefined || value === undefined) continue;
    attributes[name] = Array.isArray(value) ? value.map(clean) : typeof value === 'string' ? clean(value) : value;
  }
  return attributes;
}

/** The conventions' words for why a message ended. */
export const FINISH: Readonly<Record<StopReason, string>> = {
  stop: 'stop',
  length: 'length',
  tool_use: 'tool_call',
  pause: 'stop',
  refusal: 'content_filter',
  content_filter: 'content_filter',
  error: 'error',
  aborted: 'error',
  other: 'stop',
};

/** Bounds of the histograms, as the conventions give them. */
export const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];
/** Seconds. */
export const DURATION_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
