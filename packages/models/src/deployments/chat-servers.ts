import { CEREBRAS_ROWS } from '../catalogue/rows/cerebras.ts';
import { DEEPSEEK_ROWS } from '../catalogue/rows/deepseek.ts';
import { GROQ_ROWS } from '../catalogue/rows/groq.ts';
import { MISTRAL_ROWS } from '../catalogue/rows/mistral.ts';
import { XAI_ROWS } from '../catalogue/rows/xai.ts';
import type { CatalogueRow } from '../catalogue/row.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import type { OpenAIChatQuirks } from '../protocols/openai-chat/quirks.ts';
import { NO_CREDENTIALS, type Deployment } from './deployment.ts';

/** What tells one server of Chat Completions from another. */
interface ChatServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Default: `v1`, which all but a few have at the end of their address. */
  readonly version?: string;
  /** Default: `NAME_API_KEY`, such as `GROQ_API_KEY`. */
  readonly keyVariables?: readonly string[];
  /** Default: `NAME_BASE_URL`. */
  readonly baseUrlVariable?: string;
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
    quirks: { media: ['image'] },
    catalogue: XAI_ROWS,
  },
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    quirks: { maxTokensField: 'max_completion_tokens', media: ['image'] },
    catalogue: GROQ_ROWS,
  },
  {
    name: 'cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    quirks: { maxTokensField: 'max_completion_tokens', media: [] },
    catalogue: CEREBRAS_ROWS,
  },
  {
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
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
    quirks: { thinkingSwitch: 'reasoning', minimalEffort: 'minimal' },
  },
  {
    name: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    quirks: { media: ['image'] },
  },
  {
    name: 'fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    quirks: { media: ['image'] },
  },
  {
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
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
    // It searches the web by itself and calls nobody's tools.
    quirks: { streamUsage: false, tools: false, media: ['image'] },
  },
  {
    name: 'huggingface',
    baseUrl: 'https://router.huggingface.co/v1',
    keyVariables: ['HF_TOKEN'],
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
    local: true,
    quirks: { responseFormat: 'json_schema_only', media: ['image'] },
  },
  {
    name: 'llamacpp',
    baseUrl: 'http://localhost:8080/v1',
    keyVariables: ['LLAMA_API_KEY'],
    local: true,
    quirks: { media: ['image', 'audio'] },
  },
  {
    name: 'vllm',
    baseUrl: 'http://localhost:8000/v1',
    local: true,
    quirks: { media: ['image', 'audio'] },
  },
];

const deploymentOf = ({ version = 'v1', local, quirks, ...server }: ChatServer): Deployment => ({
  keyVariables: [`${server.name.toUpperCase()}_API_KEY`],
  baseUrlVariable: `${server.name.toUpperCase()}_BASE_URL`,
  ...server,
  version,
  protocol: openaiChat(quirks),
  auth: { header: 'authorization', prefix: 'Bearer ' },
  ...(local === true && { credentials: () => NO_CREDENTIALS }),
});

/** The services and local servers that speak Chat Completions, each with its dialect. */
export const CHAT_SERVERS: readonly Deployment[] = SERVERS.map((server) => deploymentOf(server));
