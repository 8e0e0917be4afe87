import type { AssistantMessage, JsonObject, ModelMessage, ResponseFormat, UserContent } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { createBody } from '../shared/body.ts';
import { createCallIds } from '../shared/call-ids.ts';
import { createGrowingText, withoutFirst } from '../shared/growing-text.ts';
import { asObject, toJson } from '../shared/json-text.ts';
import {
  ollamaAssistantMessage,
  ollamaInterruptedResult,
  ollamaResultImages,
  ollamaToolMessage,
  ollamaUserMessage,
} from './content.ts';
import type { OllamaQuirks } from './quirks.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';
import { createLatest, createOnce, createTranscripts } from '../shared/transcripts.ts';
import type { Fragment, TranscriptWriter } from '../shared/transcripts.ts';

/** Ollama takes any id; this is what other servers of its wire take too. */
const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools
    .map(({ name, description, inputSchema: parameters }) =>
      toJson({ type: 'function', function: { name, description, parameters } }),
    )
    .join(','),
);

/** Every message is written with a comma before it: the instructions may or may not come first. */
const createWriter = (provider: string, fragment: Fragment): TranscriptWriter => {
  const ids = createCallIds(CALL_ID_RULES);
  /** Tool names by wire id: this wire tells results apart by them. */
  const toolNames = new Map<string, string>();
  const written = createGrowingText();
  let images: UserContent[] = [];

  // Results of one message's calls must follow it without a gap, so their images wait for the last of them.
  const closing = (): string => {
    const results = ids.waiting().map((id) => ollamaInterruptedResult(toolNames.get(id) ?? '', id));
    return results.join('') + ollamaUserMessage(images);
  };

  const closeCalls = (): void => {
    written.append(closing());
    ids.forgetWaiting();
    toolNames.clear();
    images = [];
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds = new Map<string, string>();
    for (const block of message.content) {
      if (block.type !== 'tool_call') continue;
      const id = ids.assign(block, own);
      wireIds.set(block.callId, id);
      toolNames.set(id, block.name);
    }
    const key = wireIds.size === 0 ? '' : [...wireIds.values()].join();
    written.append(fragment(message, key, () => ollamaAssistantMessage(message, own, wireIds)));
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) return;
        const name = toolNames.get(id) ?? message.toolName;
        written.append(fragment(message, `${id} ${name}`, () => ollamaToolMessage(message, name, id)));
        images.push(...ollamaResultImages(message));
        return;
      }
      closeCalls();
      if (message.role === 'assistant') addAssistant(message);
      else written.append(fragment(message, '', () => ollamaUserMessage(message.content)));
    },
    pieces: () => [written.view(), closing()],
  };
};

const writeFormat = createOnce((format: ResponseFormat) =>
  format.type === 'json_object' ? '"json"' : toJson(format.schema),
);

/** `think` for a request; without a level the model decides. */
const thinkOf = (request: ModelRequest, levels: boolean): string | undefined => {
  const level = request.thinking;
  if (level === undefined) return undefined;
  if (level === 'off') return 'false';
  return levels ? `"${level === 'minimal' ? 'low' : level}"` : 'true';
};

const optionsOf = (request: ModelRequest): JsonObject => ({
  ...(request.maxTokens === undefined ? {} : { num_predict: request.maxTokens }),
  ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
  ...(request.stopSequences === undefined || request.stopSequences.length === 0
    ? {}
    : { stop: [...request.stopSequences] }),
});

/** Writes requests of Ollama's chat API for one model. */
export function createOllamaEncoder(
  target: WireTarget,
  quirks: Required<OllamaQuirks>,
): (request: ModelRequest) => WireRequest {
  const transcripts = createTranscripts((fragment) => createWriter(target.provider, fragment));
  const model = toJson(target.modelId);
  const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' };
  const levels = quirks.think === 'auto' ? /gpt-?oss/i.test(target.modelId) : quirks.think === 'level';

  const systemJson = createLatest((system) => (system === '' ? '' : toJson({ role: 'system', content: system })));

  return (request) => {
    const system = systemJson(request.system);
    const messages = transcripts(request.messages).pieces();
    // The wire has no choice of tools, and wants none declared that were called: a tool is forbidden by leaving it out.
    const tools = request.toolChoice === 'none' ? '' : writeTools(request.tools);
    const { options: ownOptions, ...extra } = request.providerOptions ?? {};
    // The caller's options win one by one, so that one more doesn't cost the others.
    const options = { ...optionsOf(request), ...(asObject(ownOptions) as JsonObject | undefined) };
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const body = createBody(extra);
    body.field('model', model);
    body.field('stream', 'true');
    body.field('tools', tools === '' ? undefined : `[${tools}]`);
    body.field('messages', ['[', system, ...(system === '' ? withoutFirst(messages) : messages), ']']);
    body.field('format', request.responseFormat === undefined ? undefined : writeFormat(request.responseFormat));
    body.field('think', thinkOf(request, levels));
    body.field('options', Object.keys(options).length === 0 ? undefined : toJson(options));
    return { path: quirks.path, headers, body: body.end() };
  };
}
