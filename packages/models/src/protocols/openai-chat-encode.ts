import type { AssistantMessage, ModelMessage, ModelRequest, ToolDefinition, UserContent } from '@treadle/core';
import { createBody } from './body.ts';
import { createCallIds } from './call-ids.ts';
import { toJson } from './json-text.ts';
import {
  chatAssistantMessage,
  chatInterruptedResult,
  chatToolMessage,
  chatUserMessage,
  toolResultAttachments,
} from './openai-chat-content.ts';
import type { OpenAIChatQuirks } from './openai-chat-quirks.ts';
import type { WireRequest, WireTarget } from './protocol.ts';
import { createFragments, createOnce, createTranscripts } from './transcripts.ts';
import type { TranscriptWriter } from './transcripts.ts';

/** The longest id of a tool call the API takes. */
const CALL_ID_LENGTH = 40;

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools
    .map(({ name, description, parameters }) =>
      toJson({ type: 'function', function: { name, description, parameters } }),
    )
    .join(','),
);

/** Every message is written with a comma before it: the instructions may or may not come first. */
const createWriter = (
  provider: string,
  quirks: Required<OpenAIChatQuirks>,
  fragment: ReturnType<typeof createFragments>,
): TranscriptWriter => {
  const ids = createCallIds({ pattern: quirks.toolCallIdPattern, maxLength: CALL_ID_LENGTH });
  let written = '';
  let attachments: UserContent[] = [];

  // Results of one message's calls must follow it without a gap, so what they attach waits for the last of them.
  const closing = (): string => {
    const results = ids.waiting().map((id) => chatInterruptedResult(id));
    return results.join('') + chatUserMessage(attachments, provider);
  };

  const closeCalls = (): void => {
    written += closing();
    ids.forgetWaiting();
    attachments = [];
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds = new Map<string, string>();
    for (const block of message.content) {
      if (block.type === 'tool_call') wireIds.set(block.callId, ids.assign(block, own));
    }
    const key = wireIds.size === 0 ? '' : [...wireIds.values()].join();
    written += fragment(message, key, () => chatAssistantMessage(message, own, wireIds, quirks));
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) return;
        written += fragment(message, id, () => chatToolMessage(message, id));
        attachments.push(...toolResultAttachments(message));
        return;
      }
      closeCalls();
      if (message.role === 'assistant') addAssistant(message);
      else written += fragment(message, '', () => chatUserMessage(message.content, provider));
    },
    text: () => written + closing(),
  };
};

const toolChoice = (request: ModelRequest, required: 'required' | 'any'): string | undefined => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto') return undefined;
  if (choice === 'none') return '"none"';
  return choice === 'required' ? `"${required}"` : toJson({ type: 'function', function: { name: choice.name } });
};

const toolsOf = (request: ModelRequest, provider: string): string => {
  const own = (request.providerTools ?? []).filter((tool) => tool.provider === provider);
  return [writeTools(request.tools), ...own.map((tool) => toJson(tool.definition))]
    .filter((json) => json !== '')
    .join(',');
};

/** Writes requests of Chat Completions for one model. */
export function createOpenAIChatEncoder(
  target: WireTarget,
  quirks: Required<OpenAIChatQuirks>,
): (request: ModelRequest) => WireRequest {
  const fragment = createFragments();
  const transcripts = createTranscripts(() => createWriter(target.provider, quirks, fragment));
  const model = toJson(target.modelId);
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  let lastSystem = '';
  let lastSystemJson = '';

  const systemJson = (system: string): string => {
    if (system !== lastSystem) {
      lastSystem = system;
      lastSystemJson = system === '' ? '' : toJson({ role: quirks.systemRole, content: system });
    }
    return lastSystemJson;
  };

  return (request) => {
    const tools = toolsOf(request, target.provider);
    const thinking = request.thinking ?? 'off';
    const system = systemJson(request.system);
    const messages = transcripts(request.messages).text();
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const body = createBody(request.extraBody);
    body.field('model', model);
    body.field('stream', 'true');
    body.field('stream_options', quirks.streamUsage ? '{"include_usage":true}' : undefined);
    body.field('tools', tools === '' ? undefined : `[${tools}]`);
    body.field('messages', system === '' ? `[${messages.slice(1)}]` : `[${system}${messages}]`);
    body.field(quirks.maxTokensField, request.maxTokens === undefined ? undefined : String(request.maxTokens));
    body.field('tool_choice', tools === '' ? undefined : toolChoice(request, quirks.requiredToolChoice));
    body.field('reasoning_effort', thinking === 'off' || !quirks.reasoningEffort ? undefined : `"${thinking}"`);
    body.field('temperature', request.temperature === undefined ? undefined : String(request.temperature));
    if (request.stopSequences !== undefined && request.stopSequences.length > 0) {
      body.field('stop', toJson(request.stopSequences));
    }
    return { path: quirks.path, headers, body: body.end() };
  };
}
