import type { JsonValue, StopReason, Usage } from '@treadle/core';
import type { Attributes } from '@opentelemetry/api';

/**
 * Versions of OpenTelemetry's semantic conventions that can be written. `1.36` is the one before the provider's attribute
 * and values were renamed; `1.41` is the newest one here.
 */
export type ConventionsVersion = '1.36' | '1.41';

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

function providerName(provider: string, version: ConventionsVersion): string {
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  return typeof known === 'object' ? known[version] : (known ?? provider);
}

/** What was read, from a cache or not: ours counts the parts apart. */
export function inputTokens({ input, cacheRead, cacheWrite }: Usage): number | undefined {
  return input === null ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0);
}

type Written = string | number | boolean | readonly string[] | null | undefined;

/** Writes a fact as attributes of a version of the conventions. What is null or undefined is left out. */
type Writer<Value> = (value: Value, version: ConventionsVersion) => Readonly<Record<string, Written>>;

/** A fact that is one attribute, or the same for several, in all versions. */
const as =
  <Value extends Written>(...names: readonly string[]): Writer<Value> =>
  (value) =>
    Object.fromEntries(names.map((name) => [name, value]));

/** Content as JSON, which the conventions have a place for since 1.41. It is there only when it was asked for. */
const content =
  (name: string): Writer<JsonValue> =>
  (value, version) =>
    version === '1.36' ? {} : { [name]: JSON.stringify(value) };

/** Every fact of an operation that is ever written, and its attributes. */
const WRITERS = {
  operation: (name: 'invoke_agent' | 'chat' | 'execute_tool') => ({
    'gen_ai.operation.name': name,
    'gen_ai.tool.type': name === 'execute_tool' ? 'function' : undefined,
  }),
  provider: (provider: string, version: ConventionsVersion) => ({
    [version === '1.36' ? 'gen_ai.system' : 'gen_ai.provider.name']: providerName(provider, version),
  }),
  requestModel: as<string>('gen_ai.request.model'),
  temperature: as<number>('gen_ai.request.temperature'),
  maxTokens: as<number>('gen_ai.request.max_tokens'),
  responseModel: as<string>('gen_ai.response.model'),
  responseId: as<string>('gen_ai.response.id'),
  finishReason: (reason: string) => ({ 'gen_ai.response.finish_reasons': [reason] }),
  usage: (usage: Usage, version: ConventionsVersion) => ({
    'gen_ai.usage.input_tokens': inputTokens(usage),
    'gen_ai.usage.output_tokens': usage.output,
    ...(version === '1.41' && {
      'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
      'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
    }),
  }),
  tokenType: as<'input' | 'output'>('gen_ai.token.type'),
  sessionId: as<string>('gen_ai.conversation.id'),
  agentId: as<string>('gen_ai.agent.id', 'gen_ai.agent.name'),
  toolName: as<string>('gen_ai.tool.name'),
  callId: as<string>('gen_ai.tool.call.id'),
  errorType: as<string>('error.type'),
  inputMessages: content('gen_ai.input.messages'),
  outputMessages: content('gen_ai.output.messages'),
  toolArguments: content('gen_ai.tool.call.arguments'),
  toolResult: content('gen_ai.tool.call.result'),
  runId: as<string>('treadle.run.id'),
  runStatus: as<string>('treadle.run.status'),
  runPaused: as<string>('treadle.run.paused'),
  runContinued: as<true>('treadle.run.continued'),
  turns: as<number>('treadle.run.turns'),
  turnIndex: as<number>('treadle.turn.index'),
  attempt: as<number>('treadle.attempt'),
  retryDelayMs: as<number>('treadle.retry.delay_ms'),
  taskId: as<string>('treadle.task.id'),
  tool: as<'client' | 'paused' | 'skipped'>('treadle.tool'),
  reason: as<string>('treadle.reason'),
  /** US dollars. */
  cost: as<number>('treadle.cost'),
  tokensBefore: as<number>('treadle.tokens.before'),
  tokensAfter: as<number>('treadle.tokens.after'),
  branches: as<readonly string[]>('treadle.branches'),
  selectedBranch: as<string>('treadle.branches.selected'),
};

/** What is known of an operation, in words of our own. Whatever is absent is not written. */
export type Facts = { readonly [Name in keyof typeof WRITERS]?: Parameters<(typeof WRITERS)[Name]>[0] | undefined };

/** Writes facts as the attributes of a version. Texts go through `clean`. */
export function attributesOf(facts: Facts, version: ConventionsVersion, clean: (text: string) => string): Attributes {
  const attributes: Attributes = {};
  for (const [fact, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    const write = WRITERS[fact as keyof Facts] as Writer<typeof value>;
    for (const [name, written] of Object.entries(write(value, version))) {
      if (typeof written === 'string') attributes[name] = clean(written);
      else if (typeof written === 'object' && written) attributes[name] = written.map(clean);
      else if (written !== null && written !== undefined) attributes[name] = written;
    }
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
