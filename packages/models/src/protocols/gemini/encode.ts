import type { AssistantMessage, ModelMessage, ProviderToolDefinition, ToolResultMessage } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { createBody } from '../shared/body.ts';
import { createCallIds } from '../shared/call-ids.ts';
import {
  geminiAssistantParts,
  geminiAttachments,
  geminiInterruptedResult,
  geminiToolName,
  geminiToolResult,
  geminiUserParts,
} from './content.ts';
import type { GeminiCall } from './content.ts';
import { geminiGeneration } from './quirks.ts';
import type { GeminiQuirks } from './quirks.ts';
import { geminiSchema, hasNoParameters } from './schema.ts';
import { geminiThinking } from './thinking.ts';
import { createGrowingText } from '../shared/growing-text.ts';
import { toJson } from '../shared/json-text.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';
import { createLatest, createOnce, createTranscripts } from '../shared/transcripts.ts';
import type { Fragment, TranscriptWriter } from '../shared/transcripts.ts';

const CALL_ID_RULES = { pattern: /^[\x21-\x7e]+$/, maxLength: 256 };

/** What stands in for the user when a conversation begins with the model, whose calls must follow a user's words. */
const OPENING = '{"text":"(The conversation continues.)"}';

/** What all requests of one model share. */
interface Facts {
  readonly provider: string;
  readonly modelId: string;
  readonly generation: number;
  readonly quirks: Required<GeminiQuirks>;
}

const createWriter = (facts: Facts, fragment: Fragment): TranscriptWriter => {
  const { provider, generation, quirks } = facts;
  const nested = generation >= 3;
  const ids = createCallIds(CALL_ID_RULES);
  /** The calls that wait for their results, by the id chosen for each. */
  const calls = new Map<string, GeminiCall>();
  const madeHere = new RegExp(`^${quirks.callIdPrefix}-fc-\\d+$`);
  const written = createGrowingText();
  let role: 'user' | 'model' | undefined;
  /** Parts that follow the last result of a message's calls. */
  let attachments: string[] = [];

  /** Parts as they follow those of an open message. */
  const following = (open: typeof role, next: 'user' | 'model', parts: string): string => {
    if (open === next) return `,${parts}`;
    return `${open === undefined ? '' : ']},'}{"role":"${next}","parts":[${parts}`;
  };

  const add = (next: 'user' | 'model', parts: string): void => {
    if (parts === '') return;
    if (role === undefined && next === 'model') add('user', OPENING);
    written.append(following(role, next, parts));
    role = next;
  };

  /** What ends the results of a message's calls: answers to those without one, and what the results had attached. */
  const closing = (): string[] => [
    ...ids.waiting().map((id) => geminiInterruptedResult(calls.get(id) ?? { name: 'unnamed_tool', id: undefined })),
    ...attachments,
  ];

  const closeCalls = (): void => {
    for (const parts of closing()) add('user', parts);
    ids.forgetWaiting();
    calls.clear();
    attachments = [];
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const made = new Map<string, GeminiCall>();
    for (const block of message.content) {
      if (block.type !== 'tool_call') continue;
      const id = ids.assign(block, own);
      const given = own && block.providerCallId !== undefined && !madeHere.test(block.providerCallId);
      const call = { name: geminiToolName(block.name), id: given ? id : undefined };
      made.set(block.callId, call);
      calls.set(id, call);
    }
    const key = [...made.values()].map(({ id }) => id ?? '').join();
    add(
      'model',
      fragment(message, key, () => geminiAssistantParts(message.content, own, made, nested)),
    );
  };

  const addResult = (message: ToolResultMessage): void => {
    const id = ids.take(message.callId);
    const call = id === undefined ? undefined : calls.get(id);
    if (call === undefined) return;
    const key = `${call.name} ${call.id ?? ''}`;
    add(
      'user',
      fragment(message, key, () => geminiToolResult(message, call, provider, nested)),
    );
    if (message.content.every(({ type }) => type === 'text')) return;
    const parts = geminiAttachments(message, provider, nested);
    if (parts !== '') attachments.push(parts);
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') return addResult(message);
      closeCalls();
      if (message.role === 'assistant') return addAssistant(message);
      add(
        'user',
        fragment(message, '', () => geminiUserParts(message.content, provider)),
      );
    },
    pieces() {
      if (role === undefined) return [];
      let end = '';
      let open: typeof role = role;
      for (const parts of closing()) {
        end += following(open, 'user', parts);
        open = 'user';
      }
      return [written.view(), `${end}]}`];
    },
  };
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

const formatFields = (request: ModelRequest, schemas: Required<GeminiQuirks>['schemas']): object => {
  const format = request.responseFormat;
  if (format === undefined) return {};
  const responseMimeType = 'application/json';
  if (format.type === 'json_object') return { responseMimeType };
  return schemas === 'json-schema'
    ? { responseMimeType, responseJsonSchema: format.schema }
    : { responseMimeType, responseSchema: geminiSchema(format.schema) };
};

const generationConfig = (request: ModelRequest, { modelId, generation, quirks }: Facts): string | undefined => {
  const { maxTokens, temperature, stopSequences = [] } = request;
  const { config, tokens } = geminiThinking(request, modelId, generation);
  const fields = {
    ...(temperature === undefined ? {} : { temperature }),
    // The wire's limit includes the reasoning.
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens + tokens }),
    ...(stopSequences.length === 0 ? {} : { stopSequences }),
    ...formatFields(request, quirks.schemas),
    ...(config === undefined ? {} : { thinkingConfig: config }),
  };
  return Object.keys(fields).length === 0 ? undefined : toJson(fields);
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
  const facts: Facts = { provider, modelId, quirks, generation: geminiGeneration(modelId, quirks.generation) };
  const transcripts = createTranscripts((fragment) => createWriter(facts, fragment));
  const writeTools = toolsWriter(quirks.schemas);
  const path = `${modelPath(modelId, quirks.modelsPath)}:streamGenerateContent?alt=sse`;
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };

  const systemJson = createLatest((system) =>
    system.trim() === '' ? undefined : toJson({ parts: [{ text: system }] }),
  );

  return (request) => {
    const tools = [writeTools(request.tools), ...ownTools(request.providerTools, provider)].filter((t) => t !== '');
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const body = createBody(request.providerOptions);
    body.field('systemInstruction', systemJson(request.system));
    body.field('tools', tools.length === 0 ? undefined : `[${tools.join(',')}]`);
    body.field('contents', ['[', ...transcripts(request.messages).pieces(), ']']);
    body.field('toolConfig', toolConfig(request));
    body.field('generationConfig', generationConfig(request, facts));
    return { path, headers, body: body.end() };
  };
}
