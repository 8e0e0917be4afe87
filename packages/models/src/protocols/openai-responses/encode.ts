import { TreadleError, type AssistantMessage, type ProviderToolDefinition, type ResponseFormat } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { arrayOf, bodyOf, jsonOf } from '../shared/body.ts';
import { keyOf, legalToolName } from '../shared/call-ids.ts';
import { createConversations, createElements, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments, createLatest, createOnce } from '../shared/fragments.ts';
import { toJson } from '../shared/json-text.ts';
import { promptCacheKey } from '../openai/cache-key.ts';
import { responsesInterruptedResult, responsesToolResult, responsesUserItem, type AnsweredCall } from './content.ts';
import type { OpenAIResponsesQuirks } from './quirks.ts';
import { isCustomCall, itemIds, itemOf, responsesAssistantItems } from './replay.ts';
import { strictSchema } from '../openai/strict.ts';
import type { Encoder, WireRequest, WireTarget } from '../shared/protocol.ts';

const CALL_ID_RULES = { pattern: /^[\x21-\x7e]+$/, maxLength: 64 };

const ORDINARY_CALL: AnsweredCall = { custom: false, caller: undefined };

/** Writes the elements of `input`; empty where nothing of a message can be sent. */
const createWriters = (provider: string, store: boolean, refused: WeakSet<AssistantMessage>) => {
  const fragment = createFragments();
  return createConversations(provider, CALL_ID_RULES, () => {
    const calls = new Map<string, AnsweredCall>();
    const usedItemIds = new Set<string>();
    const elements = createElements();

    const callOf = (wireId: string): AnsweredCall => calls.get(wireId) ?? ORDINARY_CALL;

    /**
     * Whether the message's items may return as they were. Not those of a response that was broken off, which the provider
     * doesn't know as it stands here, not those whose reasoning it refused, and not an item a second time.
     */
    const mayReturn = (message: AssistantMessage): boolean => {
      const { stopReason } = message;
      if (message.provider !== provider || stopReason === 'aborted' || stopReason === 'error') return false;
      if (refused.has(message)) return false;
      const itsIds = itemIds(message);
      if ([...itsIds].some((id) => usedItemIds.has(id))) return false;
      for (const id of itsIds) usedItemIds.add(id);
      return true;
    };

    const writer: ConversationWriter = {
      user: (message) => elements.add(fragment(message, '', () => responsesUserItem(message.content, provider))),
      assistant(message, _own, wireIds) {
        const own = mayReturn(message);
        for (const block of message.content) {
          if (block.type !== 'tool_call') continue;
          const custom = isCustomCall(block, own);
          const caller = own ? itemOf(block)?.['caller'] : undefined;
          if (custom || caller !== undefined) calls.set(wireIds.get(block.callId) ?? '', { custom, caller });
        }
        const key = `${own}${keyOf(wireIds)}`;
        elements.add(fragment(message, key, () => responsesAssistantItems(message, { own, store, wireIds })));
      },
      result(message, id) {
        const call = callOf(id);
        const key = `${call.custom}${id}`;
        elements.add(fragment(message, key, () => responsesToolResult(message, call, id, provider)));
      },
      close(unanswered) {
        for (const id of unanswered) elements.add(responsesInterruptedResult(callOf(id), id));
      },
    };
    return { ...writer, json: elements.json };
  });
};

const functionTool = ({ name, description, inputSchema: parameters }: ToolDefinition, strictTools: boolean): object => {
  const strict = strictTools ? strictSchema(parameters) : undefined;
  // The API takes a tool that doesn't say for a strict one.
  return { type: 'function', name, description, parameters: strict ?? parameters, strict: strict !== undefined };
};

/** A custom tool takes the place of the function of its name, which is what executes it. */
const toolsJson = (
  tools: readonly ToolDefinition[],
  own: readonly ProviderToolDefinition[],
  strictTools: boolean,
): string => {
  const custom = new Set(own.filter((tool) => tool.definition['type'] === 'custom').map((tool) => tool.name));
  const functions = tools.filter((tool) => !custom.has(tool.name)).map((tool) => functionTool(tool, strictTools));
  return [...functions, ...own.map((tool) => tool.definition)].map((tool) => toJson(tool)).join(',');
};

const toolChoice = (request: ModelRequest, own: readonly ProviderToolDefinition[]): string | undefined => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto') return undefined;
  if (typeof choice === 'string') return `"${choice}"`;
  const provided = own.find((tool) => tool.name === choice.name)?.definition['type'];
  if (provided === undefined || provided === 'custom')
    return toJson({ type: provided ?? 'function', name: choice.name });
  return toJson({ type: provided });
};

const FORMAT_NAME_LENGTH = 64;

/** The `text` field of a request whose reply has a form. */
const textJson = createOnce((format: ResponseFormat): string => {
  if (format.type === 'json_object') return '{"format":{"type":"json_object"}}';
  const { type, description, schema } = format;
  const strict = strictSchema(schema);
  const name = legalToolName(format.name, FORMAT_NAME_LENGTH);
  return toJson({ format: { type, name, description, schema: strict ?? schema, strict: strict !== undefined } });
});

/** The API gives JSON only where the input, not the instructions, has the word. It comes first, so that it stays. */
const JSON_DEMAND = '{"role":"system","content":"Reply with one JSON object and nothing else."}';

/** Names of OpenAI's models that reason. */
const REASONING_MODEL = /(?:^|[/.:])(?:o[1-9](?:$|[-.])|gpt-(?:[5-9]|[12]\d)(?!\d|-chat)|gpt-oss|codex|computer-use)/;

const reasoningJson = (request: ModelRequest, quirks: Required<OpenAIResponsesQuirks>): string | undefined => {
  const level = request.thinking;
  if (!quirks.reasoning || level === undefined) return undefined;
  if (level === 'off') return quirks.thinkingOff === 'none' ? '{"effort":"none"}' : undefined;
  const summary = quirks.reasoningSummary === 'none' ? {} : { summary: quirks.reasoningSummary };
  return toJson({ effort: level, ...summary });
};

const wantsEncrypted = (
  request: ModelRequest,
  modelId: string,
  { store, encryptedReasoning, reasoning }: Required<OpenAIResponsesQuirks>,
): boolean => {
  if (store || !reasoning || encryptedReasoning === 'never') return false;
  if (encryptedReasoning === 'always') return true;
  return (request.thinking ?? 'off') !== 'off' || REASONING_MODEL.test(modelId);
};

const hasReasoning = (message: AssistantMessage): boolean =>
  message.content.some(({ type }) => type === 'thinking' || type === 'redacted_thinking');

/** The provider can't read reasoning that it encrypted: with another key, another account's, or too long ago. */
const UNREADABLE_REASONING = 'invalid_encrypted_content';

/** Writes requests of the Responses API for one model. */
export function createOpenAIResponsesEncoder(target: WireTarget, quirks: Required<OpenAIResponsesQuirks>): Encoder {
  const { provider, modelId } = target;
  /** Messages whose reasoning the provider couldn't read. Items don't go back without their reasoning, so none does. */
  const refused = new WeakSet<AssistantMessage>();
  const newConversations = () => createWriters(provider, quirks.store, refused);
  let conversations = newConversations();
  const model = toJson(modelId);
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const kept = new WeakMap<readonly ToolDefinition[], { own: ModelRequest['providerTools']; json: string }>();

  const systemJson = createLatest((system) => (system === '' ? '' : toJson(system)));

  const ownTools = (request: ModelRequest): readonly ProviderToolDefinition[] =>
    (request.providerTools ?? []).filter((tool) => tool.provider === provider);

  const tools = (request: ModelRequest): string => {
    let entry = kept.get(request.tools);
    if (entry === undefined || entry.own !== request.providerTools) {
      entry = { own: request.providerTools, json: toolsJson(request.tools, ownTools(request), quirks.strictTools) };
      kept.set(request.tools, entry);
    }
    return entry.json;
  };

  const recovers: Encoder['recovers'] = ({ messages }, { code }) => {
    if (code !== UNREADABLE_REASONING) return false;
    let found = false;
    for (const message of messages) {
      if (message.role !== 'assistant' || message.provider !== provider) continue;
      if (refused.has(message) || !hasReasoning(message)) continue;
      refused.add(message);
      found = true;
    }
    if (found) conversations = newConversations();
    return found;
  };

  const encode = (request: ModelRequest): WireRequest => {
    if (request.stopSequences !== undefined && request.stopSequences.length > 0) {
      throw new TreadleError(
        'invalid_definition',
        'The Responses API has no stop sequences. Leave them out, or use a model of another wire such as Chat Completions.',
      );
    }
    const toolList = tools(request);
    const { maxTokens, responseFormat } = request;
    const demand = responseFormat?.type === 'json_object' ? JSON_DEMAND : '';
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      model,
      stream: 'true',
      store: String(quirks.store),
      prompt_cache_key: quirks.promptCacheKey ? jsonOf(promptCacheKey(request)) : undefined,
      include: wantsEncrypted(request, modelId, quirks) ? '["reasoning.encrypted_content"]' : undefined,
      instructions: systemJson(request.system) || undefined,
      tools: arrayOf([toolList]),
      input: conversations(request.messages).json(demand),
      max_output_tokens: maxTokens === undefined ? undefined : String(Math.max(maxTokens, quirks.minOutputTokens)),
      tool_choice: toolList === '' ? undefined : toolChoice(request, ownTools(request)),
      reasoning: reasoningJson(request, quirks),
      temperature: jsonOf(request.temperature),
      text: responseFormat && textJson(responseFormat),
    };
    return { path: quirks.path, headers, body: bodyOf(fields, request.providerOptions) };
  };
  return Object.assign(encode, { recovers });
}
