import type { AssistantMessage, ToolResultMessage, UserContent, UserMessage } from '@treadle/core';
import { defined, isJsonObject, type JsonObject } from '@treadle/core/json';
import type { ModelRequest } from '@treadle/core/model';
import { effortFor } from '../rules/rules.ts';
import { createConversations, type ConversationWriter } from '../protocols/shared/conversation.ts';
import type {
  AssistantPart,
  CallOptions,
  FileData,
  FilePart,
  PromptMessage,
  ProviderData,
  SdkReasoning,
  SdkTool,
  TextPart,
} from './types.ts';

/** Where a block keeps what its provider wants back. */
export const METADATA = 'providerMetadata';

/** What a block must carry back to the provider that made it. */
const carried = (opaque: JsonObject | undefined): { readonly providerOptions?: ProviderData } => {
  const data = opaque?.[METADATA];
  return isJsonObject(data) ? { providerOptions: data as ProviderData } : {};
};

type Version = 'v3' | 'v4';

type Media = Exclude<UserContent, { readonly type: 'text' }>;

const dataOf = ({ data, url }: Media, version: Version): FileData | undefined => {
  if (data !== undefined) return version === 'v4' ? { type: 'data', data } : data;
  if (url === undefined) return undefined;
  return version === 'v4' ? { type: 'url', url: new URL(url) } : new URL(url);
};

const filePart = (block: Media, provider: string, version: Version): FilePart | TextPart => {
  const { mediaType } = block;
  const name = block.type === 'file' ? block.name : undefined;
  const data =
    block.type === 'file' && block.fileId !== undefined && block.provider === provider && version === 'v4'
      ? ({ type: 'reference', reference: { [provider]: block.fileId } } as const)
      : dataOf(block, version);
  if (data === undefined)
    return { type: 'text', text: `[${block.type} ${name ?? mediaType} can't be shown to this model]` };
  return { type: 'file', mediaType, data, ...defined({ filename: name }), ...carried(block.opaque) };
};

/** Results have only text in version 3; what it knows of files differs from provider to provider. */
const resultOutput = ({ content, isError }: ToolResultMessage, version: Version) => {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const files = content.filter((block) => block.type !== 'text');
  if (files.length === 0 || version === 'v3' || isError) {
    const notes = files.map(({ type, mediaType }) => `[${type} ${mediaType}]`);
    return { type: isError ? 'error-text' : 'text', value: [...texts, ...notes].join('\n') } as const;
  }
  const value = content.map((block) =>
    block.type === 'text' ? { type: 'text', text: block.text } : { ...filePart(block, '', version) },
  );
  return { type: 'content', value } as const;
};

const INTERRUPTED = 'The call was interrupted: it has no result.';

interface PromptWriter extends ConversationWriter {
  readonly messages: PromptMessage[];
}

function promptWriter(provider: string, version: Version): PromptWriter {
  const messages: PromptMessage[] = [];
  const names = new Map<string, string>();
  const result = (toolCallId: string, output: ReturnType<typeof resultOutput>): void => {
    const part = { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? '', output } as const;
    const last = messages.at(-1);
    if (last?.role === 'tool') messages[messages.length - 1] = { ...last, content: [...last.content, part] };
    else messages.push({ role: 'tool', content: [part] });
  };
  return {
    messages,
    user({ content }: UserMessage) {
      const parts = content.map((block) =>
        block.type === 'text' ? ({ type: 'text', text: block.text } as const) : filePart(block, provider, version),
      );
      messages.push({ role: 'user', content: parts });
    },
    assistant({ content }: AssistantMessage, own, wireIds) {
      const parts = content.flatMap((block): AssistantPart[] => {
        switch (block.type) {
          case 'text':
            return [{ type: 'text', text: block.text, ...(own && carried(block.opaque)) }];
          case 'thinking':
            // A signature is its provider's: reasoning of others is no use, and may be refused.
            return own ? [{ type: 'reasoning', text: block.text, ...carried(block.opaque) }] : [];
          case 'tool_call': {
            const toolCallId = wireIds.get(block.callId) ?? block.callId;
            names.set(toolCallId, block.name);
            const call = { type: 'tool-call', toolCallId, toolName: block.name, input: block.arguments } as const;
            return [{ ...call, ...(own && carried(block.opaque)) }];
          }
          case 'provider_tool_call':
          case 'provider_tool_result':
          case 'provider_block':
            return own ? [block.raw as unknown as AssistantPart] : [];
          case 'image':
          case 'file':
            return [filePart(block, provider, version)];
          case 'redacted_thinking':
            return [];
        }
      });
      if (parts.length > 0) messages.push({ role: 'assistant', content: parts });
    },
    result: (message, id) => result(id, resultOutput(message, version)),
    close(unanswered) {
      for (const id of unanswered) result(id, { type: 'error-text', value: INTERRUPTED });
    },
  };
}

const toolsOf = ({ tools, providerTools = [] }: ModelRequest, provider: string): SdkTool[] => [
  ...tools.map(({ name, description, inputSchema }) => ({ type: 'function', name, description, inputSchema }) as const),
  ...providerTools
    .filter((tool) => tool.provider === provider)
    .map(({ name, definition }): SdkTool => {
      const { id, args } = definition;
      const named = typeof id === 'string' ? id : `${provider}.${name}`;
      return { type: 'provider', id: named as `${string}.${string}`, name, args: isJsonObject(args) ? args : {} };
    }),
];

const formatOf = (format: ModelRequest['responseFormat']): CallOptions['responseFormat'] => {
  if (format === undefined) return undefined;
  if (format.type === 'json_object') return { type: 'json' };
  const { schema, name, description } = format;
  return { type: 'json', schema, name, ...defined({ description }) };
};

const choiceOf = (choice: ModelRequest['toolChoice']): CallOptions['toolChoice'] => {
  if (choice === undefined) return undefined;
  return typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice };
};

const reasoningOf = (thinking: ModelRequest['thinking']): SdkReasoning | undefined => {
  if (typeof thinking === 'object') return effortFor(thinking.budgetTokens);
  return thinking === 'off' ? 'none' : thinking;
};

/** Writes requests as the call options of a language model. Consecutive requests share what they have in common. */
export function createOptionsWriter(
  provider: string,
  version: Version,
): (request: ModelRequest, abortSignal: AbortSignal) => CallOptions {
  const conversations = createConversations(provider, { pattern: /^[\w-]+$/, maxLength: 64 }, () =>
    promptWriter(provider, version),
  );
  return (request, abortSignal) => {
    const { system, maxTokens, temperature, stopSequences, thinking, providerOptions } = request;
    const tools = toolsOf(request, provider);
    const { messages } = conversations(request.messages);
    const start: PromptMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
    return {
      prompt: [...start, ...messages],
      abortSignal,
      ...defined({
        maxOutputTokens: maxTokens,
        temperature,
        stopSequences,
        responseFormat: formatOf(request.responseFormat),
        tools: tools.length === 0 ? undefined : tools,
        toolChoice: tools.length === 0 ? undefined : choiceOf(request.toolChoice),
        reasoning: version === 'v3' ? undefined : reasoningOf(thinking),
        providerOptions: providerOptions as ProviderData | undefined,
      }),
    };
  };
}
