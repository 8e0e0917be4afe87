import { CEREBRAS_ROWS } from '../catalogue/rows/cerebras.ts';
import { DEEPSEEK_ROWS } from '../catalogue/rows/deepseek.ts';
import { GROQ_ROWS } from '../catalogue/rows/groq.ts';
import { MISTRAL_ROWS } from '../catalogue/rows/mistral.ts';
import { XAI_ROWS } from '../catalogue/rows/xai.ts';
import type { CatalogueRow } from '../catalogue/row.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import type { OpenAIChatQuirks } from '../protocols/openai-chat/quirks.ts';
import { NO_CREDENTIALS } from './deployment.ts';
import type { Deployment } from './deployment.ts';

/** What tells one server of Chat Completions from another. */
interface ChatServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Default: `v1`, which all but a few have at the end of their address. */
  readonly version?: string;
  readonly keyVariables: readonly string[];
  readonly baseUrlVariable: string;
  /** It runs on a machine of one's own, and wants a key only when told to. */
  readonly local?: true;
  readonly quirks: OpenAIChatQuirks;
  readonly catalogue?: readonly CatalogueRow[];
}

// Facts are those of each provider's documentation as of November 2026, and of recorded responses. Where neither says
// whether a server takes a field, it isn't sent.
const SERVERS: readonly ChatServer[] = [
  {
    name: 'xai',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    baseUrlVariable: 'XAI_BASE_URL',
    quirks: { media: ['image'] },
    catalogue: XAI_ROWS,
  },
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariables: ['GROQ_API_KEY'],
    baseUrlVariable: 'GROQ_BASE_URL',
    quirks: { maxTokensField: 'max_completion_tokens', media: ['image'] },
    catalogue: GROQ_ROWS,
  },
  {
    name: 'cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    keyVariables: ['CEREBRAS_API_KEY'],
    baseUrlVariable: 'CEREBRAS_BASE_URL',
    quirks: { maxTokensField: 'max_completion_tokens', media: [] },
    catalogue: CEREBRAS_ROWS,
  },
  {
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariables: ['MISTRAL_API_KEY'],
    baseUrlVariable: 'MISTRAL_BASE_URL',
    quirks: {
      // It refuses fields it doesn't know, and counts tokens unasked.
      streamUsage: false,
      reasoningEffort: false,
      requiredToolChoice: 'any',
      toolCallIdPattern: /^[a-zA-Z0-9]{9}$/,
      media: ['image'],
    },
    catalogue: MISTRAL_ROWS,
  },
  {
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com',
    version: '',
    keyVariables: ['DEEPSEEK_API_KEY'],
    baseUrlVariable: 'DEEPSEEK_BASE_URL',
    quirks: {
      thinkingSwitch: 'thinking',
      reasoningField: 'reasoning_content',
      reasoningRequired: true,
      responseFormat: 'json_object',
      media: [],
    },
    catalogue: DEEPSEEK_ROWS,
  },
  {
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    baseUrlVariable: 'OPENROUTER_BASE_URL',
    quirks: { thinkingSwitch: 'reasoning', minimalEffort: 'minimal' },
  },
  {
    name: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    keyVariables: ['TOGETHER_API_KEY'],
    baseUrlVariable: 'TOGETHER_BASE_URL',
    quirks: { media: ['image'] },
  },
  {
    name: 'fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariables: ['FIREWORKS_API_KEY'],
    baseUrlVariable: 'FIREWORKS_BASE_URL',
    quirks: { media: ['image'] },
  },
  {
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyVariables: ['MOONSHOT_API_KEY'],
    baseUrlVariable: 'MOONSHOT_BASE_URL',
    quirks: {
      maxTokensField: 'max_completion_tokens',
      reasoningEffort: false,
      thinkingSwitch: 'thinking',
      reasoningField: 'reasoning_content',
      reasoningRequired: true,
      toolChoices: ['none'],
      responseFormat: 'json_object',
      media: ['image'],
    },
  },
  {
    name: 'alibaba',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    keyVariables: ['DASHSCOPE_API_KEY', 'ALIBABA_API_KEY'],
    baseUrlVariable: 'DASHSCOPE_BASE_URL',
    quirks: {
      reasoningEffort: false,
      thinkingSwitch: 'enable_thinking',
      toolChoices: ['none', 'named'],
      responseFormat: 'json_object',
      media: ['image'],
    },
  },
  {
    name: 'zai',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    version: '',
    keyVariables: ['ZAI_API_KEY'],
    baseUrlVariable: 'ZAI_BASE_URL',
    quirks: {
      streamUsage: false,
      reasoningEffort: false,
      thinkingSwitch: 'thinking',
      reasoningField: 'reasoning_content',
      toolChoices: [],
      responseFormat: 'json_object',
      media: ['image'],
      // Without it the arguments of a call come in one piece, after a silence as long as it takes to write them.
      extraFields: { tool_stream: true },
    },
  },
  {
    name: 'perplexity',
    baseUrl: 'https://api.perplexity.ai',
    version: '',
    keyVariables: ['PERPLEXITY_API_KEY'],
    baseUrlVariable: 'PERPLEXITY_BASE_URL',
    // It searches the web by itself and calls nobody's tools.
    quirks: { streamUsage: false, tools: false, media: ['image'] },
  },
  {
    name: 'huggingface',
    baseUrl: 'https://router.huggingface.co/v1',
    keyVariables: ['HF_TOKEN'],
    baseUrlVariable: 'HUGGINGFACE_BASE_URL',
    quirks: { media: ['image'] },
  },
  {
    name: 'github',
    baseUrl: 'https://models.github.ai/inference',
    version: '',
    keyVariables: ['GITHUB_TOKEN'],
    baseUrlVariable: 'GITHUB_MODELS_BASE_URL',
    quirks: { media: ['image'] },
  },
  {
    name: 'lmstudio',
    baseUrl: 'http://localhost:1234/v1',
    keyVariables: ['LM_API_TOKEN'],
    baseUrlVariable: 'LMSTUDIO_BASE_URL',
    local: true,
    quirks: { responseFormat: 'json_schema_only', media: ['image'] },
  },
  {
    name: 'llamacpp',
    baseUrl: 'http://localhost:8080/v1',
    keyVariables: ['LLAMA_API_KEY'],
    baseUrlVariable: 'LLAMACPP_BASE_URL',
    local: true,
    quirks: { media: ['image', 'audio'] },
  },
  {
    name: 'vllm',
    baseUrl: 'http://localhost:8000/v1',
    keyVariables: ['VLLM_API_KEY'],
    baseUrlVariable: 'VLLM_BASE_URL',
    local: true,
    quirks: { media: ['image', 'audio'] },
  },
];

const deploymentOf = ({ version = 'v1', local, quirks, ...server }: ChatServer): Deployment => ({
  ...server,
  version,
  protocol: openaiChat(quirks),
  auth: { header: 'authorization', prefix: 'Bearer ' },
  ...(local === true ? { credentials: () => NO_CREDENTIALS } : {}),
});

/** The services and local servers that speak Chat Completions, each with its dialect. */
export const CHAT_SERVERS: readonly Deployment[] = SERVERS.map((server) => deploymentOf(server));
