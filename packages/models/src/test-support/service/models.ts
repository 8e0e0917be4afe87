// What the services refuse, model by model, as their makers and those who use them wrote it down by November 2026. The
// product's own tables say the same in other words and are never read here: each checks the other.

/** A field that a service refuses. */
export type Refusal =
  /** Any `temperature`. */
  | 'temperature'
  /** A `temperature` while the model thinks. */
  | 'temperature_thinking'
  /** A choice of tools that forces a call. */
  | 'forced_tool'
  /** The same while the model thinks. */
  | 'forced_tool_thinking'
  /** Words of the model at the end of the conversation. */
  | 'prefill'
  /** A form of the reply that the service itself keeps. */
  | 'format'
  /** The same beside tools. */
  | 'format_with_tools'
  /** Encrypted reasoning, of a model that doesn't reason. */
  | 'encrypted_reasoning'
  /** Tools, by Chat Completions. */
  | 'chat_tools'
  /** Tools, by Chat Completions, unless thinking is off. */
  | 'chat_tools_thinking'
  /** Tools, by Chat Completions, beside an effort that was asked for. */
  | 'chat_tools_effort'
  /** A call without the signature that it came with. */
  | 'unsigned_call';

export interface ServiceModel {
  /** The name to ask for it by. */
  readonly name: string;
  readonly refuses: readonly Refusal[];
  /** Words for how much it thinks that the service takes, besides those that switch it off. */
  readonly efforts: readonly string[];
  /** Tokens of thinking at least and at most, where a number is taken. */
  readonly budget?: readonly [number, number];
  /** How thinking is switched off: the word, 0 for a budget, `silence`, or null where it can't be. */
  readonly off: string | 0 | null;
  /** It thinks when nothing is said. */
  readonly thinks: boolean;
  /** Thinking blocks must stand behind the same instructions, tools and messages as ever. */
  readonly bound?: true;
  /** Its thinking comes without text, unless a summary is asked for. */
  readonly hides?: true;
  /** It takes no images. */
  readonly blind?: true;
}

const TO_HIGH = ['low', 'medium', 'high'];
const TO_XHIGH = [...TO_HIGH, 'xhigh'];
const TO_MAX = [...TO_XHIGH, 'max'];

const claude = (id: string, off: ServiceModel['off'], more: Partial<ServiceModel> = {}): ServiceModel => ({
  name: `anthropic/${id}`,
  refuses: ['temperature', 'forced_tool', 'prefill'],
  efforts: TO_MAX,
  off,
  thinks: true,
  hides: true,
  ...more,
});
const bound = { bound: true } as const;
const SELDOM_FORCED = ['temperature', 'forced_tool_thinking', 'prefill'] as const;
const OLDER = ['temperature_thinking', 'forced_tool_thinking'] as const;

const openai = (
  id: string,
  off: ServiceModel['off'],
  efforts: readonly string[],
  more: Partial<ServiceModel> = {},
) => ({
  name: `openai/${id}`,
  refuses:
    off === null
      ? (['temperature', 'chat_tools'] as const)
      : (['temperature_thinking', 'chat_tools_thinking'] as const),
  efforts,
  off,
  thinks: true,
  ...more,
});
const plain = (name: string): ServiceModel => ({
  name,
  refuses: ['encrypted_reasoning'],
  efforts: [],
  off: 'silence',
  thinks: false,
});

const gemini = (id: string, efforts: readonly string[], more: Partial<ServiceModel> = {}): ServiceModel => ({
  name: `google/${id}`,
  refuses: ['unsigned_call'],
  efforts,
  off: null,
  thinks: true,
  ...more,
});

export const SERVICE_MODELS: readonly ServiceModel[] = [
  claude('claude-fable-5-2', null, bound),
  claude('claude-mythos-5-2', null, bound),
  claude('claude-fable-5-1', null, bound),
  claude('claude-opus-5-5', null, bound),
  claude('claude-sonnet-5-5', 'between_tools', bound),
  claude('claude-haiku-5-5', 'disabled', { ...bound, refuses: SELDOM_FORCED }),
  claude('claude-opus-5', 'disabled', { refuses: SELDOM_FORCED }),
  claude('claude-sonnet-5', 'disabled', { refuses: SELDOM_FORCED }),
  claude('claude-fable-5', null),
  claude('claude-opus-4-8', 'silence', { refuses: SELDOM_FORCED, thinks: false }),
  claude('claude-opus-4-7', 'silence', { refuses: SELDOM_FORCED, thinks: false }),
  claude('claude-opus-4-6', 'silence', {
    refuses: [...OLDER, 'prefill'],
    efforts: [...TO_HIGH, 'max'],
    budget: [1024, 128_000],
    thinks: false,
  }),
  claude('claude-sonnet-4-6', 'silence', {
    refuses: [...OLDER, 'prefill'],
    efforts: [...TO_HIGH, 'max'],
    budget: [1024, 128_000],
    thinks: false,
  }),
  claude('claude-haiku-4-5', 'silence', { refuses: OLDER, efforts: [], budget: [1024, 64_000], thinks: false }),
  claude('claude-opus-4-5', 'silence', { refuses: OLDER, efforts: [], budget: [1024, 64_000], thinks: false }),
  claude('claude-opus-4-0', 'silence', {
    refuses: [...OLDER, 'format'],
    efforts: [],
    budget: [1024, 64_000],
    thinks: false,
  }),
  claude('claude-3-5-haiku-20241022', 'silence', { refuses: ['format'], efforts: [], thinks: false }),

  openai('gpt-6.2-astra', null, TO_XHIGH),
  openai('gpt-6.2-sol', null, TO_XHIGH),
  openai('gpt-6.1-sol', null, TO_MAX),
  openai('gpt-6.1-terra', 'none', TO_MAX),
  openai('gpt-6-astra', null, TO_MAX),
  openai('gpt-6-sol', 'none', TO_MAX),
  openai('gpt-6-luna', 'none', TO_MAX),
  openai('gpt-5.6-sol', 'none', TO_MAX),
  openai('gpt-5.6-terra', 'none', TO_MAX),
  openai('gpt-5.6-luna', 'none', TO_MAX),
  openai('gpt-5.5', 'none', TO_XHIGH),
  openai('gpt-5.5-pro', null, ['medium', 'high', 'xhigh']),
  openai('gpt-5.4', 'none', TO_XHIGH, { thinks: false, refuses: ['temperature_thinking', 'chat_tools_effort'] }),
  openai('gpt-5.4-mini', 'none', TO_XHIGH, { thinks: false, refuses: ['temperature_thinking'] }),
  openai('gpt-5.3-codex-spark', null, TO_XHIGH, { refuses: ['temperature'] }),
  openai('gpt-5.2', 'none', TO_XHIGH, { thinks: false, refuses: ['temperature_thinking'] }),
  openai('gpt-5.1', 'none', TO_HIGH, { thinks: false, refuses: ['temperature_thinking'] }),
  openai('gpt-5', null, ['minimal', ...TO_HIGH], { refuses: ['temperature'] }),
  openai('gpt-5-mini', null, ['minimal', ...TO_HIGH], { refuses: ['temperature'] }),
  openai('gpt-5-pro', null, ['high'], { refuses: ['temperature'] }),
  openai('gpt-5-codex', null, TO_HIGH, { refuses: ['temperature'] }),
  openai('o3', null, TO_HIGH, { refuses: ['temperature'] }),
  plain('openai/gpt-4.1'),

  gemini('gemini-4-argon', TO_HIGH),
  gemini('gemini-4-carbon', TO_HIGH),
  gemini('gemini-4-hydrogen', TO_XHIGH),
  gemini('gemini-3.8-flash', TO_HIGH),
  gemini('gemini-3.7-flash', TO_HIGH),
  gemini('gemini-3.6-flash', ['minimal', ...TO_HIGH]),
  gemini('gemini-3.5-flash-lite', ['minimal', ...TO_HIGH]),
  gemini('gemini-3-flash-preview', ['minimal', ...TO_HIGH]),
  gemini('gemini-3.1-pro-preview', TO_HIGH),
  gemini('gemini-3-pro-preview', ['low', 'high']),
  gemini('gemini-2.5-pro', [], { budget: [128, 32_768], refuses: ['format_with_tools'] }),
  gemini('gemini-2.5-flash', [], { budget: [0, 24_576], off: 0, refuses: ['format_with_tools'] }),
  gemini('gemini-2.5-flash-lite', [], { budget: [512, 24_576], off: 0, thinks: false, refuses: ['format_with_tools'] }),
  gemini('gemini-2.0-flash', [], { refuses: ['format_with_tools'], off: 'silence', thinks: false }),

  { name: 'xai/grok-4.7', refuses: [], efforts: TO_XHIGH, off: null, thinks: true },
  { name: 'xai/grok-4.3', refuses: [], efforts: TO_XHIGH, off: 'none', thinks: true },
  {
    name: 'deepseek/deepseek-flash',
    refuses: [],
    efforts: ['low', 'high', 'max'],
    off: 'disabled',
    thinks: true,
    blind: true,
  },
  {
    name: 'deepseek/deepseek-v4-pro',
    refuses: [],
    efforts: ['high', 'max'],
    off: 'disabled',
    thinks: true,
    blind: true,
  },
  { name: 'mistral/mistral-large-4', refuses: [], efforts: TO_HIGH, off: null, thinks: true },
  { name: 'mistral/mistral-medium-2604', refuses: [], efforts: ['high'], off: 'none', thinks: true },
  { name: 'mistral/mistral-large-2512', refuses: [], efforts: [], off: 'silence', thinks: false },
  {
    name: 'moonshot/kimi-k3.1-pro',
    refuses: ['temperature'],
    efforts: ['low', 'high', 'max'],
    off: null,
    thinks: true,
  },
  { name: 'moonshot/kimi-k2.6', refuses: [], efforts: [], off: 'disabled', thinks: true },
  { name: 'zai/glm-5.3', refuses: [], efforts: ['low', 'high', 'max'], off: null, thinks: true },
  { name: 'zai/glm-5.2', refuses: [], efforts: ['high', 'max'], off: 'disabled', thinks: true },
  { name: 'zai/glm-4.6', refuses: [], efforts: [], off: 'disabled', thinks: true },
  { name: 'alibaba/qwen3.8-max', refuses: [], efforts: ['low', 'medium', 'xhigh'], off: null, thinks: true },
  { name: 'alibaba/qwen3-max', refuses: [], efforts: [], off: 'disabled', thinks: true },
  openai('gpt-oss', null, TO_HIGH, { name: 'bedrock/openai.gpt-oss-120b-1:0', refuses: [] }),
  claude('anthropic.claude-opus-5-5', null, { ...bound, name: 'bedrock/anthropic.claude-opus-5-5' }),
  claude('anthropic.claude-opus-4-8', 'silence', {
    name: 'bedrock/us.anthropic.claude-opus-4-8',
    refuses: SELDOM_FORCED,
    thinks: false,
  }),
];
