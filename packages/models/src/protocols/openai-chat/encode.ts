import { TreadleError } from '@treadle/core';
import type { AssistantMessage, ModelMessage, ResponseFormat, UserContent } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { createBody } from '../shared/body.ts';
import type { BodyWriter } from '../shared/body.ts';
import { createCallIds } from '../shared/call-ids.ts';
import { createGrowingText, withoutFirst } from '../shared/growing-text.ts';
import { toJson } from '../shared/json-text.ts';
import { promptCacheKey } from '../openai/cache-key.ts';
import {
  chatAssistantMessage,
  chatInterruptedResult,
  chatToolMessage,
  chatUserMessage,
  toolResultAttachments,
} from './content.ts';
import { chatResponseFormat, instructionsWithFormat } from './format.ts';
import type { OpenAIChatQuirks } from './quirks.ts';
import { strictSchema } from '../openai/strict.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';
import { createLatest, createOnce, createTranscripts } from '../shared/transcripts.ts';
import type { Fragment, TranscriptWriter } from '../shared/transcripts.ts';

/** The longest id of a tool call the API takes. */
const CALL_ID_LENGTH = 40;

const toolJson = ({ name, description, inputSchema: parameters }: ToolDefinition, strictTools: boolean): string => {
  if (!strictTools) return toJson({ type: 'function', function: { name, description, parameters } });
  const strict = strictSchema(parameters);
  const declared = { name, description, parameters: strict ?? parameters, strict: strict !== undefined };
  return toJson({ type: 'function', function: declared });
};

/** Every message is written with a comma before it: the instructions may or may not come first. */
const createWriter = (provider: string, quirks: Required<OpenAIChatQuirks>, fragment: Fragment): TranscriptWriter => {
  const ids = createCallIds({ pattern: quirks.toolCallIdPattern, maxLength: CALL_ID_LENGTH });
  const written = createGrowingText();
  let attachments: UserContent[] = [];

  // Results of one message's calls must follow it without a gap, so what they attach waits for the last of them.
  const closing = (): string => {
    let results = '';
    for (const id of ids.waiting()) results += chatInterruptedResult(id);
    return attachments.length === 0 ? results : results + chatUserMessage(attachments, provider, quirks);
  };

  const closeCalls = (): void => {
    written.append(closing());
    ids.forgetWaiting();
    if (attachments.length > 0) attachments = [];
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds: string[] = [];
    for (const block of message.content) {
      if (block.type === 'tool_call') wireIds.push(ids.assign(block, own));
    }
    const key = wireIds.length === 1 ? (wireIds[0] ?? '') : wireIds.join();
    written.append(fragment(message, key, () => chatAssistantMessage(message, own, wireIds, quirks)));
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) return;
        written.append(fragment(message, id, () => chatToolMessage(message, id)));
        for (const block of toolResultAttachments(message)) attachments.push(block);
        return;
      }
      closeCalls();
      if (message.role === 'assistant') addAssistant(message);
      else written.append(fragment(message, '', () => chatUserMessage(message.content, provider, quirks)));
    },
    pieces: () => [written.view(), closing()],
  };
};

const toolChoice = (request: ModelRequest, quirks: Required<OpenAIChatQuirks>): string | undefined => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto') return undefined;
  const known = quirks.toolChoices;
  if (choice === 'none') return known.includes('none') ? '"none"' : undefined;
  if (choice === 'required') return known.includes('required') ? `"${quirks.requiredToolChoice}"` : undefined;
  return known.includes('named') ? toJson({ type: 'function', function: { name: choice.name } }) : undefined;
};

/** Adds what a request says about thinking, in the server's words. */
const addThinking = (body: BodyWriter, request: ModelRequest, quirks: Required<OpenAIChatQuirks>): void => {
  const level = request.thinking;
  if (level === undefined) return;
  const on = level !== 'off';
  const effort = level === 'minimal' ? quirks.minimalEffort : level;
  if (quirks.thinkingSwitch === 'reasoning') return body.field('reasoning', `{"effort":"${on ? effort : 'none'}"}`);
  if (quirks.thinkingSwitch === 'thinking') body.field('thinking', `{"type":"${on ? 'enabled' : 'disabled'}"}`);
  if (quirks.thinkingSwitch === 'enable_thinking') body.field('enable_thinking', String(on));
  if (on && quirks.reasoningEffort) body.field('reasoning_effort', `"${effort}"`);
};

/** Leaving the tools out would make an agent that can do nothing and says that it did. */
const noTools = (provider: string, tools: readonly ToolDefinition[]): TreadleError => {
  const names = tools.slice(0, 5).map(({ name }) => name);
  const which = names.length === 0 ? '' : ` (${names.join(', ')}${tools.length > names.length ? ', …' : ''})`;
  return new TreadleError(
    'invalid_definition',
    `${provider} has no tools, and this request has some${which}. Use an agent without tools, or a model of another provider.`,
  );
};

/** Writes requests of Chat Completions for one model. */
export function createOpenAIChatEncoder(
  target: WireTarget,
  quirks: Required<OpenAIChatQuirks>,
): (request: ModelRequest) => WireRequest {
  const transcripts = createTranscripts((fragment) => createWriter(target.provider, quirks, fragment));
  const model = toJson(target.modelId);
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
    tools.map((tool) => toolJson(tool, quirks.strictTools)).join(','),
  );
  const formatJson = createOnce((format: ResponseFormat) => chatResponseFormat(format, quirks.responseFormat));
  const hasExtraFields = Object.keys(quirks.extraFields).length > 0;

  const systemJson = createLatest((system) =>
    system === '' ? '' : toJson({ role: quirks.systemRole, content: system }),
  );

  const toolsOf = (request: ModelRequest): string => {
    if (request.toolChoice === 'none' && !(quirks.tools && quirks.toolChoices.includes('none'))) return '';
    if (request.providerTools === undefined && quirks.tools) return writeTools(request.tools);
    const own = (request.providerTools ?? []).filter((tool) => tool.provider === target.provider);
    if (!quirks.tools && request.tools.length + own.length > 0) throw noTools(target.provider, request.tools);
    return [writeTools(request.tools), ...own.map((tool) => toJson(tool.definition))]
      .filter((json) => json !== '')
      .join(',');
  };

  return (request) => {
    const tools = toolsOf(request);
    const system = systemJson(instructionsWithFormat(request, quirks.responseFormat));
    const messages = transcripts(request.messages).pieces();
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const body = createBody(
      hasExtraFields ? { ...quirks.extraFields, ...request.providerOptions } : request.providerOptions,
    );
    body.field('model', model);
    body.field('stream', 'true');
    const cacheKey = quirks.promptCacheKey ? promptCacheKey(request) : undefined;
    body.field('prompt_cache_key', cacheKey === undefined ? undefined : toJson(cacheKey));
    body.field('stream_options', quirks.streamUsage ? '{"include_usage":true}' : undefined);
    body.field('tools', tools === '' ? undefined : `[${tools}]`);
    body.field('messages', ['[', system, ...(system === '' ? withoutFirst(messages) : messages), ']']);
    body.field(quirks.maxTokensField, request.maxTokens === undefined ? undefined : String(request.maxTokens));
    body.field('tool_choice', tools === '' ? undefined : toolChoice(request, quirks));
    addThinking(body, request, quirks);
    body.field(
      'response_format',
      request.responseFormat === undefined ? undefined : formatJson(request.responseFormat),
    );
    body.field('temperature', request.temperature === undefined ? undefined : String(request.temperature));
    if (request.stopSequences !== undefined && request.stopSequences.length > 0) {
      body.field('stop', toJson(request.stopSequences));
    }
    return { path: quirks.path, headers, body: body.end() };
  };
}
