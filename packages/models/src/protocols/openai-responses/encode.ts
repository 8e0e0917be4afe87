import { TreadleError, type AssistantMessage, type ProviderToolDefinition, type ResponseFormat } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { SEARCH_TOOLS } from '@treadle/core/tools';
import { arrayOf, bodyOf, jsonOf } from '../shared/body.ts';
import { keyOf, legalToolName } from '../shared/call-ids.ts';
import { createConversations, createElements, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments, createLatest, createOnce } from '../shared/fragments.ts';
import { toJson } from '../shared/json-text.ts';
import { createToolLists, providerToolsOf } from '../shared/tool-list.ts';
import { promptCacheKey } from '../openai/cache-key.ts';
import { responsesInterruptedResult, responsesToolResult, responsesUserItem, type AnsweredCall } from './content.ts';
import type { OpenAIResponsesQuirks } from './quirks.ts';
import { SAFETY_CHECKS } from './provider.ts';
import { callType, itemIds, itemOf, responsesAssistantItems } from './replay.ts';
import { OPENAI_FAMILIES } from '../../rules/openai.ts';
import {
  createWarnings,
  familyOf,
  isThinking,
  planThinking,
  takenTemperature,
  type ModelFamily,
  type ThinkingPlan,
} from '../../rules/rules.ts';
import { strictSchema } from '../openai/strict.ts';
import type { Encoder, WireRequest, WireTarget } from '../shared/protocol.ts';

const CALL_ID_RULES = { pattern: /^[\x21-\x7e]+$/, maxLength: 64 };

const ORDINARY_CALL: AnsweredCall = { type: 'function_call', caller: undefined, checks: undefined };

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
          const type = callType(block, own);
          const caller = own ? itemOf(block)?.['caller'] : undefined;
          const checks = type === 'computer_call' ? block.arguments[SAFETY_CHECKS] : undefined;
          calls.set(wireIds.get(block.callId) ?? '', { type, caller, checks });
        }
        const key = `${own}${keyOf(wireIds)}`;
        elements.add(fragment(message, key, () => responsesAssistantItems(message, { own, store, wireIds })));
      },
      result(message, id) {
        const call = callOf(id);
        const key = `${call.type}${id}`;
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

/** The definitions that it finds join the prompt where its output stands. */
const searchTool = ({ description, inputSchema: parameters }: ToolDefinition): object => ({
  type: 'tool_search',
  execution: 'client',
  description,
  parameters,
});

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

const reasoningJson = (
  plan: ThinkingPlan,
  { off, thinksUnasked }: ModelFamily,
  { reasoning, reasoningSummary }: Required<OpenAIResponsesQuirks>,
): string | undefined => {
  if (plan.type === 'off') return off === 'none' ? '{"effort":"none"}' : undefined;
  const summary = reasoningSummary === 'none' ? undefined : reasoningSummary;
  if (plan.type === 'effort') return toJson({ effort: plan.effort, summary });
  return reasoning && thinksUnasked && summary !== undefined ? toJson({ summary }) : undefined;
};

const wantsEncrypted = (
  { efforts }: ModelFamily,
  { store, encryptedReasoning, reasoning }: Required<OpenAIResponsesQuirks>,
): boolean =>
  !store && reasoning && encryptedReasoning !== 'never' && (encryptedReasoning === 'always' || efforts.length > 0);

const hasReasoning = (message: AssistantMessage): boolean =>
  message.content.some(({ type }) => type === 'thinking' || type === 'redacted_thinking');

/** The provider can't read reasoning that it encrypted: with another key, another account's, or too long ago. */
const UNREADABLE_REASONING = 'invalid_encrypted_content';

/** The model doesn't reason, whatever its name is. */
const NOT_ENCRYPTED = /encrypted[ _]content (?:is|are) not supported/i;

/** Writes requests of the Responses API for one model. */
export function createOpenAIResponsesEncoder(target: WireTarget, quirks: Required<OpenAIResponsesQuirks>): Encoder {
  const { provider, modelId } = target;
  /** Messages whose reasoning the provider couldn't read. Items don't go back without their reasoning, so none does. */
  const refused = new WeakSet<AssistantMessage>();
  const newConversations = () => createWriters(provider, quirks.store, refused);
  let conversations = newConversations();
  const family = familyOf(OPENAI_FAMILIES, modelId, quirks.family);
  let encrypted = wantsEncrypted(family, quirks);
  const model = toJson(modelId);
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const tools = createToolLists(provider, (tool) => functionTool(tool, quirks.strictTools));
  const searching = createToolLists(provider, (tool) =>
    tool.name === SEARCH_TOOLS ? searchTool(tool) : functionTool(tool, quirks.strictTools),
  );

  const systemJson = createLatest((system) => (system === '' ? '' : toJson(system)));

  const recovers: Encoder['recovers'] = ({ messages }, { code, message: said }) => {
    if (encrypted && NOT_ENCRYPTED.test(said)) {
      encrypted = false;
      return true;
    }
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
    const { warn, list: warnings } = createWarnings();
    const plan = planThinking(family, quirks.reasoning ? request.thinking : undefined, modelId, warn);
    const toolList = request.deferredTools ? searching(request) : tools(request);
    const { maxTokens, responseFormat } = request;
    const demand = responseFormat?.type === 'json_object' ? JSON_DEMAND : '';
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      model,
      stream: 'true',
      store: String(quirks.store),
      prompt_cache_key: quirks.promptCacheKey ? jsonOf(promptCacheKey(request)) : undefined,
      include: encrypted ? '["reasoning.encrypted_content"]' : undefined,
      instructions: systemJson(request.system) || undefined,
      tools: arrayOf([toolList]),
      input: conversations(request.messages).json(demand),
      max_output_tokens: maxTokens === undefined ? undefined : String(Math.max(maxTokens, quirks.minOutputTokens)),
      tool_choice: toolList === '' ? undefined : toolChoice(request, providerToolsOf(request, provider)),
      reasoning: reasoningJson(plan, family, quirks),
      temperature: jsonOf(takenTemperature(family, request, isThinking(family, plan), modelId, warn)),
      text: responseFormat && textJson(responseFormat),
    };
    return { path: quirks.path, headers, body: bodyOf(fields, request.providerOptions), warnings };
  };
  return Object.assign(encode, { recovers });
}
