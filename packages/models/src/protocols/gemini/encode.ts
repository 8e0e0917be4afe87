import type { ProviderToolDefinition, ToolResultMessage } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { arrayOf, bodyOf, filledJson } from '../shared/body.ts';
import {
  geminiAssistantParts,
  geminiAttachments,
  geminiInterruptedResult,
  geminiToolName,
  geminiToolResult,
  geminiUserParts,
} from './content.ts';
import type { GeminiCall } from './content.ts';
import { geminiFamily, geminiGeneration, type GeminiQuirks } from './quirks.ts';
import { geminiSchema, hasNoParameters } from './schema.ts';
import { geminiThinking } from './thinking.ts';
import { createWarnings, formInWords, withInstructions, type ModelFamily, type Warn } from '../../rules/rules.ts';
import { createConversations, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments, createLatest, createOnce } from '../shared/fragments.ts';
import { toJson } from '../shared/json-text.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';
import { createTurns } from '../shared/turns.ts';

const CALL_ID_RULES = { pattern: /^[\x21-\x7e]+$/, maxLength: 256 };

/** What stands in for the user when a conversation begins with the model, whose calls must follow a user's words. */
const OPENING = '{"text":"(The conversation continues.)"}';

/** What all requests of one model share. */
interface Facts {
  readonly provider: string;
  readonly modelId: string;
  readonly generation: number;
  readonly quirks: Required<GeminiQuirks>;
  readonly family: ModelFamily;
}

const createWriters = ({ provider, generation, quirks }: Facts) => {
  const nested = generation >= 3;
  const madeHere = new RegExp(`^${quirks.callIdPrefix}-fc-\\d+$`);
  const fragment = createFragments();
  const attachmentsOf = createOnce((message: ToolResultMessage) => geminiAttachments(message, provider, nested));
  return createConversations(provider, CALL_ID_RULES, () => {
    const turns = createTurns('parts', OPENING);
    /** The calls that wait for their results, by the id chosen for each. */
    const calls = new Map<string, GeminiCall>();
    /** Parts that follow the last result of a message's calls. */
    let attachments: string[] = [];

    const writer: ConversationWriter = {
      user(message) {
        const parts = fragment(message, '', () => geminiUserParts(message.content, provider));
        turns.add('user', parts);
      },
      assistant(message, own, wireIds) {
        const made = new Map<string, GeminiCall>();
        for (const block of message.content) {
          if (block.type !== 'tool_call') continue;
          const id = wireIds.get(block.callId) ?? '';
          const given = own && block.providerCallId !== undefined && !madeHere.test(block.providerCallId);
          const call = { name: geminiToolName(block.name), id: given ? id : undefined };
          made.set(block.callId, call);
          calls.set(id, call);
        }
        const key = [...made.values()].map(({ id }) => id ?? '').join();
        const parts = fragment(message, key, () => geminiAssistantParts(message.content, own, made, nested));
        turns.add('model', parts);
      },
      result(message, id) {
        const call = calls.get(id);
        if (call === undefined) return;
        const key = `${call.name} ${call.id ?? ''}`;
        const result = fragment(message, key, () => geminiToolResult(message, call, provider, nested));
        turns.add('user', result);
        attachments.push(attachmentsOf(message));
      },
      close(unanswered) {
        const open = unanswered.map((id) => calls.get(id) ?? { name: 'unnamed_tool', id: undefined });
        for (const parts of [...open.map(geminiInterruptedResult), ...attachments]) turns.add('user', parts);
        calls.clear();
        attachments = [];
      },
    };
    return { ...writer, json: () => turns.json() };
  });
};

const declaration = (tool: ToolDefinition, schemas: Required<GeminiQuirks>['schemas']): object => {
  const { name, description, inputSchema: parameters } = tool;
  const own = description.trim() === '' ? { name } : { name, description };
  if (schemas === 'json-schema') return { ...own, parametersJsonSchema: parameters };
  if (hasNoParameters(parameters)) return own;
  return { ...own, parameters: { type: 'OBJECT', ...geminiSchema(parameters) } };
};

const toolsWriter = (schemas: Required<GeminiQuirks>['schemas']) =>
  createOnce((tools: readonly ToolDefinition[]) =>
    tools.length === 0
      ? ''
      : `{"functionDeclarations":[${tools.map((tool) => toJson(declaration(tool, schemas))).join(',')}]}`,
  );

const ownTools = (tools: readonly ProviderToolDefinition[] | undefined, provider: string): string[] =>
  (tools ?? []).filter((tool) => tool.provider === provider).map((tool) => toJson(tool.definition));

const toolConfig = (request: ModelRequest): string | undefined => {
  const choice = request.toolChoice;
  if (request.tools.length === 0 || choice === undefined || choice === 'auto') return undefined;
  const config =
    typeof choice === 'object'
      ? { mode: 'ANY', allowedFunctionNames: [choice.name] }
      : { mode: choice === 'none' ? 'NONE' : 'ANY' };
  return toJson({ functionCallingConfig: config });
};

/** The form of the reply stands in the instructions: the model takes none beside tools. */
const isInWords = (
  { responseFormat, tools, providerTools = [] }: ModelRequest,
  { formatWithTools }: ModelFamily,
): boolean => responseFormat !== undefined && !formatWithTools && tools.length + providerTools.length > 0;

const formatFields = (request: ModelRequest, schemas: Required<GeminiQuirks>['schemas'], inWords: boolean): object => {
  const format = request.responseFormat;
  if (format === undefined || inWords) return {};
  const responseMimeType = 'application/json';
  if (format.type === 'json_object') return { responseMimeType };
  return schemas === 'json-schema'
    ? { responseMimeType, responseJsonSchema: format.schema }
    : { responseMimeType, responseSchema: geminiSchema(format.schema) };
};

const generationConfig = (
  request: ModelRequest,
  { modelId, family, quirks }: Facts,
  warn: Warn,
  inWords: boolean,
): string | undefined => {
  const { maxTokens, temperature, stopSequences = [] } = request;
  const { config, tokens } = geminiThinking(request, family, modelId, warn);
  return filledJson({
    temperature,
    // The wire's limit includes the reasoning.
    maxOutputTokens: maxTokens === undefined ? undefined : maxTokens + tokens,
    ...(stopSequences.length > 0 && { stopSequences }),
    ...formatFields(request, quirks.schemas, inWords),
    thinkingConfig: config,
  });
};

/** A model's name may have a path of its own, such as `tunedModels/mine`. */
const modelPath = (modelId: string, modelsPath: string): string => {
  const id = modelId.replace(/^models\//, '');
  const path = id.split('/').map(encodeURIComponent).join('/');
  return id.includes('/') ? `/${path}` : `${modelsPath}/${path}`;
};

/** Writes requests of the Gemini wire for one model. */
export function createGeminiEncoder(
  target: WireTarget,
  quirks: Required<GeminiQuirks>,
): (request: ModelRequest) => WireRequest {
  const { provider, modelId } = target;
  const generation = geminiGeneration(modelId, quirks.generation);
  const family = geminiFamily(modelId, quirks);
  const facts: Facts = { provider, modelId, quirks, generation, family };
  const conversations = createWriters(facts);
  const writeTools = toolsWriter(quirks.schemas);
  const path = `${modelPath(modelId, quirks.modelsPath)}:streamGenerateContent?alt=sse`;
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };

  const systemJson = createLatest((system) => (system.trim() === '' ? '' : toJson({ parts: [{ text: system }] })));

  return (request) => {
    const { warn, list: warnings } = createWarnings();
    const inWords = isInWords(request, family);
    const form = inWords && request.responseFormat ? formInWords(request.responseFormat) : undefined;
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      systemInstruction: systemJson(withInstructions(request.system, form)) || undefined,
      tools: arrayOf([writeTools(request.tools), ...ownTools(request.providerTools, provider)]),
      contents: conversations(request.messages).json(),
      toolConfig: toolConfig(request),
      generationConfig: generationConfig(request, facts, warn, inWords),
    };
    return { path, headers, body: bodyOf(fields, request.providerOptions), warnings };
  };
}
