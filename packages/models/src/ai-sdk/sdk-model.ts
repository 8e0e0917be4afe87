import { TreadleError, type AssistantContent, type Model, type ModelMessage, type UserContent } from '@treadle/core';
import { defined, isJsonObject, parseJson, type JsonObject, type JsonValue } from '@treadle/core/json';
import type { ModelEvent, ModelRequest, StopReason, ToolDefinition, Usage } from '@treadle/core/model';
import type {
  AssistantPart,
  CallOptions,
  FilePart,
  PromptMessage,
  ProviderData,
  ResultOutput,
  StreamPart,
  UnifiedReason,
} from './types.ts';

/** Under this name the parts of a reply carry what their provider wants back. */
const OWN = 'treadle';

const carry = (block: JsonObject): { readonly providerMetadata: ProviderData } => ({
  providerMetadata: { [OWN]: block },
});

/** The block of a part that came from here, as it was. */
const blockOf = ({ providerOptions }: { readonly providerOptions?: ProviderData }): AssistantContent | undefined => {
  const block = providerOptions?.[OWN];
  return block === undefined ? undefined : (block as unknown as AssistantContent);
};

const invalid = (message: string): TreadleError => new TreadleError('invalid_definition', message);

function fileContent({ mediaType, data, filename }: FilePart): UserContent {
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  const base = { type, mediaType, ...(type === 'file' && defined({ name: filename })) } as const;
  const value =
    typeof data === 'object' && 'type' in data
      ? data.type === 'url'
        ? data.url
        : data.type === 'data'
          ? data.data
          : data
      : data;
  if (value instanceof URL) return { ...base, url: value.href };
  if (typeof value === 'string') return { ...base, data: value };
  if (value instanceof Uint8Array)
    return { ...base, data: btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join('')) };
  if (value.type === 'text') return { type: 'text', text: value.text };
  throw invalid('A file of a provider’s own store can’t be sent to another model. Send its bytes, or a URL.');
}

function assistantContent(part: AssistantPart): readonly AssistantContent[] {
  const own = blockOf(part);
  if (own) return [own];
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }];
    case 'reasoning':
      return [{ type: 'thinking', text: part.text }];
    case 'tool-call': {
      const { toolCallId: callId, toolName: name, input } = part;
      return [{ type: 'tool_call', callId, providerCallId: callId, name, arguments: isJsonObject(input) ? input : {} }];
    }
    case 'file': {
      const block = fileContent(part);
      return block.type === 'text' ? [{ type: 'text', text: block.text }] : [block];
    }
    default:
      return [];
  }
}

const resultText = (output: ResultOutput): string => {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return `The call was refused${output.reason === undefined ? '.' : `: ${output.reason}`}`;
    case 'content':
      return output.value.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
  }
};

const UNKNOWN: Usage = { input: null, output: null, cacheRead: null, cacheWrite: null, reasoning: null };

/** The messages of a prompt. Their ids are their places: a prompt that grows keeps them. */
function messagesOf(prompt: readonly PromptMessage[], { provider, id: model }: Model): ModelMessage[] {
  const messages: ModelMessage[] = [];
  for (const message of prompt) {
    const base = { id: `message_${messages.length}`, at: 0 };
    if (message.role === 'user') {
      const content = message.content.map((part): UserContent =>
        part.type === 'text' ? { type: 'text', text: part.text } : fileContent(part),
      );
      messages.push({ ...base, role: 'user', origin: 'prompt', content });
    } else if (message.role === 'assistant') {
      const content = message.content.flatMap(assistantContent);
      const reply = {
        role: 'assistant',
        provider,
        model,
        content,
        stopReason: 'stop',
        usage: UNKNOWN,
        cost: null,
      } as const;
      messages.push({ ...base, ...reply });
    } else if (message.role === 'tool') {
      for (const part of message.content) {
        if (part.type !== 'tool-result') continue;
        const { toolCallId: callId, toolName, output } = part;
        const isError = output.type.startsWith('error') || output.type === 'execution-denied';
        const content = [{ type: 'text', text: resultText(output) } as const];
        messages.push({ id: `message_${messages.length}`, at: 0, role: 'tool', callId, toolName, content, isError });
      }
    }
  }
  return messages;
}

const LEVELS = {
  none: 'off',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
} as const;

function requestOf(options: CallOptions, model: Model): ModelRequest {
  const {
    prompt,
    tools = [],
    toolChoice,
    responseFormat,
    reasoning,
    maxOutputTokens,
    temperature,
    stopSequences,
  } = options;
  const system = prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n\n');
  const functions = tools.flatMap((tool): ToolDefinition[] => {
    if (tool.type === 'provider') throw invalid(`asAiSdkModel knows no provider tools, such as ${tool.id}.`);
    const { name, description = '', inputSchema } = tool;
    return [{ name, description, inputSchema: inputSchema as JsonObject }];
  });
  const format: ModelRequest['responseFormat'] =
    responseFormat?.type !== 'json'
      ? undefined
      : responseFormat.schema === undefined
        ? { type: 'json_object' }
        : { type: 'json_schema', name: responseFormat.name ?? 'reply', schema: responseFormat.schema as JsonObject };
  return {
    system,
    messages: messagesOf(prompt, model),
    tools: functions,
    ...defined({
      maxTokens: maxOutputTokens,
      temperature,
      stopSequences,
      responseFormat: format,
      toolChoice: toolChoice?.type === 'tool' ? { name: toolChoice.toolName } : toolChoice?.type,
      thinking: reasoning === undefined || reasoning === 'provider-default' ? undefined : LEVELS[reasoning],
      providerOptions: options.providerOptions?.[model.provider],
    }),
  };
}

const REASONS: Readonly<Partial<Record<StopReason, UnifiedReason>>> = {
  stop: 'stop',
  pause: 'stop',
  length: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
  content_filter: 'content-filter',
};

const count = (value: number | null): number | undefined => value ?? undefined;

/** Reads the events of a reply as parts of a stream. */
function* partsOf(event: ModelEvent, open: Map<number, string>): Generator<StreamPart> {
  const begin = function* (index: number, kind: 'text' | 'reasoning'): Generator<StreamPart> {
    if (open.has(index)) return;
    open.set(index, String(index));
    yield { type: `${kind}-start`, id: String(index) };
  };
  switch (event.type) {
    case 'start':
      yield { type: 'response-metadata', ...defined({ id: event.responseId, modelId: event.model }) };
      return;
    case 'text_delta':
    case 'thinking_delta': {
      const kind = event.type === 'text_delta' ? 'text' : 'reasoning';
      yield* begin(event.index, kind);
      yield { type: `${kind}-delta`, id: String(event.index), delta: event.text };
      return;
    }
    case 'tool_call_start':
      open.set(event.index, event.providerCallId);
      yield { type: 'tool-input-start', id: event.providerCallId, toolName: event.name };
      return;
    case 'tool_arguments_delta':
      yield { type: 'tool-input-delta', id: open.get(event.index) ?? '', delta: event.text };
      return;
    case 'block_end': {
      const { block, index } = event;
      const metadata = carry(block as unknown as JsonObject);
      if (block.type === 'text' || block.type === 'thinking' || block.type === 'redacted_thinking') {
        const kind = block.type === 'text' ? 'text' : 'reasoning';
        yield* begin(index, kind);
        yield { type: `${kind}-end`, id: String(index), ...metadata };
      } else if (block.type === 'tool_call') {
        const { name, providerCallId: id, argumentsText: input, opaque } = block;
        if (!open.has(index)) yield { type: 'tool-input-start', id, toolName: name };
        yield { type: 'tool-input-end', id };
        const callBlock = { type: 'tool_call', callId: id, providerCallId: id, name, arguments: parsed(input) };
        yield {
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input: input === '' ? '{}' : input,
          ...(opaque && carry({ ...callBlock, opaque })),
        };
      } else if (block.type === 'image' || block.type === 'file') {
        const data = block.data ?? '';
        yield { type: 'file', mediaType: block.mediaType, data: { type: 'data', data } };
      }
      return;
    }
    case 'finish': {
      const { input, output, cacheRead, cacheWrite, reasoning } = event.usage;
      const total = input === null ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0);
      yield {
        type: 'finish',
        finishReason: { unified: REASONS[event.stopReason] ?? 'other', raw: event.rawStopReason },
        usage: {
          inputTokens: { total, noCache: count(input), cacheRead: count(cacheRead), cacheWrite: count(cacheWrite) },
          outputTokens: {
            total: count(output),
            text: output === null ? undefined : output - (reasoning ?? 0),
            reasoning: count(reasoning),
          },
        },
      };
      return;
    }
    case 'error': {
      const { message, status, retryable, kind } = event.error;
      yield {
        type: 'error',
        error: Object.assign(new Error(message), { statusCode: status, isRetryable: retryable, kind }),
      };
    }
  }
}

const parsed = (text: string): JsonValue => {
  try {
    return parseJson(text) as JsonValue;
  } catch {
    return {};
  }
};

/** What the AI SDK's functions take as a `model`. */
export interface AiSdkModel {
  readonly specificationVersion: 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doStream(options: CallOptions): Promise<{ readonly stream: ReadableStream<StreamPart> }>;
  doGenerate(options: CallOptions): Promise<{
    readonly content: readonly JsonObject[];
    readonly finishReason: Extract<StreamPart, { type: 'finish' }>['finishReason'];
    readonly usage: Extract<StreamPart, { type: 'finish' }>['usage'];
    readonly warnings: readonly never[];
  }>;
}

/**
 * A model as a language model of the AI SDK, version 4 of its interface: for `streamText` and `generateText`.
 *
 * @example
 * ```ts
 * import { asAiSdkModel } from '@treadle/models/ai-sdk';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const languageModel = asAiSdkModel(scriptedModel(['Hello.']));
 * const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] as const;
 * const { content } = await languageModel.doGenerate({ prompt });
 * console.log(content[0]?.text); // Hello.
 * ```
 */
export function asAiSdkModel(model: Model): AiSdkModel {
  async function* parts(options: CallOptions, control: AbortController): AsyncGenerator<StreamPart> {
    const open = new Map<number, string>();
    const signal = options.abortSignal ? AbortSignal.any([options.abortSignal, control.signal]) : control.signal;
    yield { type: 'stream-start', warnings: [] };
    for await (const event of model.stream(requestOf(options, model), signal)) yield* partsOf(event, open);
    options.abortSignal?.throwIfAborted();
  }
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.id,
    supportedUrls: { '*/*': [/^https?:/] },
    async doStream(options) {
      const control = new AbortController();
      const iterator = parts(options, control);
      const stream = new ReadableStream<StreamPart>({
        async pull(controller) {
          const next = await iterator.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        },
        cancel: () => control.abort(),
      });
      return { stream };
    },
    async doGenerate(options) {
      const content: JsonObject[] = [];
      const texts = new Map<string, string>();
      let last: Extract<StreamPart, { type: 'finish' }> | undefined;
      for await (const part of parts(options, new AbortController())) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'text-delta' || part.type === 'reasoning-delta')
          texts.set(part.id, (texts.get(part.id) ?? '') + part.delta);
        if (part.type === 'text-end' || part.type === 'reasoning-end') {
          const type = part.type === 'text-end' ? 'text' : 'reasoning';
          content.push({
            type,
            text: texts.get(part.id) ?? '',
            ...defined({ providerMetadata: part.providerMetadata }),
          });
        }
        if (part.type === 'tool-call' || part.type === 'file') content.push(part as unknown as JsonObject);
        if (part.type === 'finish') last = part;
      }
      if (last === undefined) throw new Error('The stream ended without saying that the message was finished.');
      return { content, finishReason: last.finishReason, usage: last.usage, warnings: [] };
    },
  };
}
