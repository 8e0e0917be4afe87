import type { Model, ModelBlock, ModelEvent, ModelMessage, ModelRequest } from '@treadle/core';
import { offlineModel, resolveModel } from '@treadle/models';

/** Keys of providers, by the names that requests give them. */
export interface ProviderKeys {
  readonly openAiApiKey?: string;
  readonly anthropicApiKey?: string;
  readonly geminiApiKey?: string;
}

const PROVIDERS = [
  { key: 'geminiApiKey', variable: 'GEMINI_API_KEY', model: 'google/gemini-2.5-pro' },
  { key: 'anthropicApiKey', variable: 'ANTHROPIC_API_KEY', model: 'anthropic/claude-sonnet-4-5' },
  { key: 'openAiApiKey', variable: 'OPENAI_API_KEY', model: 'openai/gpt-5' },
] as const;

/** The models there is a key for: the request's own, else the environment's. */
export function availableModels(env: Readonly<Record<string, string | undefined>>, keys: ProviderKeys): Model[] {
  return PROVIDERS.flatMap(({ key, variable, model }) => {
    const apiKey = keys[key] ?? env[variable];
    return apiKey ? [resolveModel(model, { apiKey })] : [];
  });
}

/** Its own words for our tool. */
const OFFLINE_NAMES: Readonly<Record<string, string>> = { create_file: 'write_file' };

/**
 * The offline model as a writer of pages. It knows our `create_file` as `write_file`, and reads nothing but what the user asked for:
 * what comes before is advice for language models.
 */
export function offlinePages(delayMs = 15): Model {
  const model = offlineModel({ delayMs });
  return { ...model, stream: (request, signal) => renamed(model.stream(toOffline(request), signal)) };
}

const ourName = (name: string): string => (name === 'write_file' ? 'create_file' : name);
const offlineName = (name: string): string => OFFLINE_NAMES[name] ?? name;

function toOffline(request: ModelRequest): ModelRequest {
  return {
    ...request,
    tools: request.tools
      .filter(({ name }) => name === 'create_file')
      .map((tool) => ({ ...tool, name: offlineName(tool.name) })),
    messages: request.messages.map(offlineMessage),
  };
}

function offlineMessage(message: ModelMessage): ModelMessage {
  if (message.role === 'user') return { ...message, content: message.content.slice(-1) };
  if (message.role === 'tool') return { ...message, toolName: offlineName(message.toolName) };
  return {
    ...message,
    content: message.content.map((block) =>
      block.type === 'tool_call' ? { ...block, name: offlineName(block.name) } : block,
    ),
  };
}

async function* renamed(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent> {
  for await (const event of events) {
    if (event.type === 'tool_call_start') yield { ...event, name: ourName(event.name) };
    else if (event.type === 'block_end') yield { ...event, block: ourBlock(event.block) };
    else yield event;
  }
}

const ourBlock = (block: ModelBlock): ModelBlock =>
  block.type === 'tool_call' ? { ...block, name: ourName(block.name) } : block;
