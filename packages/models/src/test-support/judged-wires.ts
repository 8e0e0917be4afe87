import type { JsonObject } from '@treadle/core';
import {
  validateAnthropicRequest,
  validateBedrockRequest,
  validateGeminiRequest,
  validateOllamaRequest,
  validateOpenAIChatRequest,
  validateOpenAIResponsesRequest,
} from '@treadle/testing';
import { anthropicMessages } from '../protocols/anthropic/protocol.ts';
import { bedrockConverse } from '../protocols/bedrock/protocol.ts';
import { gemini } from '../protocols/gemini/protocol.ts';
import { ollamaChat } from '../protocols/ollama/protocol.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import { openaiResponses } from '../protocols/openai-responses/protocol.ts';
import type { Protocol } from '../protocols/shared/protocol.ts';

/** A wire, and a judge of its requests that knows nothing of how they are made. */
export interface Wire {
  readonly name: string;
  readonly provider: string;
  readonly protocol: () => Protocol;
  readonly validate: (body: JsonObject) => readonly string[];
}

export const WIRES: readonly Wire[] = [
  {
    name: 'Anthropic Messages',
    provider: 'anthropic',
    protocol: anthropicMessages,
    validate: validateAnthropicRequest,
  },
  { name: 'Chat Completions', provider: 'openai', protocol: openaiChat, validate: validateOpenAIChatRequest },
  {
    name: 'OpenAI Responses',
    provider: 'openai-responses',
    protocol: openaiResponses,
    validate: validateOpenAIResponsesRequest,
  },
  { name: 'Bedrock Converse', provider: 'bedrock', protocol: bedrockConverse, validate: validateBedrockRequest },
  { name: 'Gemini', provider: 'google', protocol: gemini, validate: validateGeminiRequest },
  { name: 'Ollama', provider: 'ollama', protocol: ollamaChat, validate: validateOllamaRequest },
];
