import { CEREBRAS_ROWS } from '../catalogue/rows/cerebras.ts';
import { DEEPSEEK_ROWS } from '../catalogue/rows/deepseek.ts';
import { GROQ_ROWS } from '../catalogue/rows/groq.ts';
import { MISTRAL_ROWS } from '../catalogue/rows/mistral.ts';
import { XAI_ROWS } from '../catalogue/rows/xai.ts';
import { CATALOGUE } from '../catalogue/catalogue.ts';
import { FIREWORKS_SNAPSHOT } from '../catalogue/snapshot/fireworks.ts';
import { MOONSHOT_SNAPSHOT } from '../catalogue/snapshot/moonshot.ts';
import { TOGETHER_SNAPSHOT } from '../catalogue/snapshot/together.ts';
import { ZAI_SNAPSHOT } from '../catalogue/snapshot/zai.ts';
import type { CatalogueRow } from '../catalogue/row.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import { openaiResponses } from '../protocols/openai-responses/protocol.ts';
import type { OpenAIChatQuirks } from '../protocols/openai-chat/quirks.ts';
import {
  ALIBABA_FAMILIES,
  DEEPSEEK_FAMILIES,
  GATEWAY_FAMILIES,
  MISTRAL_FAMILIES,
  MOONSHOT_FAMILIES,
  UNKNOWN_FAMILIES,
  XAI_FAMILIES,
  ZAI_FAMILIES,
} from '../rules/servers.ts';
import { listedWindow, slotWindow } from '../windows/detect.ts';
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
  /** It speaks the Responses API besides. */
  readonly responses?: true;
  /** It runs on a machine of one's own, and wants a key only when told to. */
  readonly local?: true;
  readonly windowQuestions?: NonNullable<Deployment['windowQuestions']>;
  readonly quirks: OpenAIChatQuirks;
  readonly catalogue?: readonly CatalogueRow[];
}

const LISTED = { path: 'models', read: listedWindow };

// Facts are those of each provider's documentation as of November 2026, and of recorded responses. Where neither says
// whether a server takes a field, it isn't sent.
const SERVERS: readonly ChatServer[] = [
  {
    name: 'xai',
    responses: true,
    baseUrl: 'https://api.x.ai/v1',
    quirks: { families: XAI_FAMILIES, media: ['image'] },
    catalogue: XAI_ROWS,
  },
  {
    name: 'groq',
    responses: true,
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
      families: MISTRAL_FAMILIES,
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
      families: DEEPSEEK_FAMILIES,
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
    responses: true,
    baseUrl: 'https://openrouter.ai/api/v1',
    catalogue: CATALOGUE,
    // Of Claude and Qwen only what is marked is cached.
    quirks: {
      families: GATEWAY_FAMILIES,
      thinkingSwitch: 'reasoning',
      cacheControl: [
        { match: /^~?anthropic\//, by: 'request' },
        { match: /^~?(?:alibaba|qwen)\//, by: 'parts' },
      ],
    },
  },
  {
    name: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    catalogue: TOGETHER_SNAPSHOT,
    quirks: { media: ['image'] },
  },
  {
    name: 'fireworks',
    responses: true,
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    catalogue: FIREWORKS_SNAPSHOT,
    quirks: { media: ['image'] },
  },
  {
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    catalogue: MOONSHOT_SNAPSHOT,
    quirks: {
      maxTokensField: 'max_completion_tokens',
      families: MOONSHOT_FAMILIES,
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
      families: ALIBABA_FAMILIES,
      thinkingSwitch: 'enable_thinking',
      toolChoices: ['none', 'named'],
      responseFormat: 'json_object',
      media: ['image'],
    },
  },
  {
    name: 'zai',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    catalogue: ZAI_SNAPSHOT,
    version: '',
    quirks: {
      streamUsage: false,
      families: ZAI_FAMILIES,
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
    responses: true,
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
    responses: true,
    baseUrl: 'http://localhost:1234/v1',
    keyVariables: ['LM_API_TOKEN'],
    local: true,
    windowQuestions: () => [{ path: '/api/v0/models', read: listedWindow }, LISTED],
    quirks: { responseFormat: 'json_schema_only', media: ['image'] },
  },
  {
    name: 'llamacpp',
    responses: true,
    baseUrl: 'http://localhost:8080/v1',
    keyVariables: ['LLAMA_API_KEY'],
    local: true,
    windowQuestions: () => [{ path: '/props', read: slotWindow }, LISTED],
    quirks: { media: ['image', 'audio'] },
  },
  {
    name: 'vllm',
    responses: true,
    baseUrl: 'http://localhost:8000/v1',
    local: true,
    windowQuestions: () => [LISTED],
    quirks: { media: ['image', 'audio'] },
  },
];

const deploymentOf = ({ version = 'v1', local, responses, quirks, ...server }: ChatServer): Deployment => ({
  keyVariables: [`${server.name.toUpperCase()}_API_KEY`],
  baseUrlVariable: `${server.name.toUpperCase()}_BASE_URL`,
  ...server,
  version,
  protocol: openaiChat(quirks),
  ...(responses === true && {
    wires: { chat: openaiChat(quirks), responses: openaiResponses({ family: UNKNOWN_FAMILIES[0] }) },
  }),
  auth: { header: 'authorization', prefix: 'Bearer ' },
  ...(local === true && { credentials: () => NO_CREDENTIALS }),
});

/** The services and local servers that speak Chat Completions, each with its dialect. */
export const CHAT_SERVERS: readonly Deployment[] = SERVERS.map((server) => deploymentOf(server));
