import { isJsonObject, parseJson } from '@treadle/core/json';
import type { JsonObject, ModelMessage, ProviderToolDefinition, ResponseFormat } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { anthropicFormat, nativeFormat, type AnthropicFormat } from './format.ts';
import type { AnthropicQuirks } from './quirks.ts';
import { anthropicThinking } from './thinking.ts';
import { createAnthropicTranscripts, marked } from './transcript.ts';
import { ANTHROPIC_FAMILIES } from '../../rules/anthropic.ts';
import { createWarnings, demandedTool, familyOf, takenTemperature, withInstructions } from '../../rules/rules.ts';
import { arrayOf, bodyOf, filledJson, jsonOf } from '../shared/body.ts';
import { createLatest, createOnce } from '../shared/fragments.ts';
import { toJson } from '../shared/json-text.ts';
import { refuseThinking } from '../shared/call-ids.ts';
import { createToolLists, providerToolsOf } from '../shared/tool-list.ts';
import type { Encoder, WireTarget } from '../shared/protocol.ts';
import { cacheMarks } from '../shared/turns.ts';

const toolJson = ({ name, description, inputSchema: parameters }: ToolDefinition): object => ({
  name,
  description,
  input_schema: parameters,
});

const deferredLists = createOnce((tools: NonNullable<ModelRequest['deferredTools']>): string =>
  tools.map((tool) => toJson({ ...toolJson(tool), defer_loading: true })).join(),
);

const deferredJson = ({ deferredTools = [] }: ModelRequest): string =>
  deferredTools.length === 0 ? '' : deferredLists(deferredTools);

/** The betas of the provider's tools that have one, by type. */
const TOOL_BETAS: readonly (readonly [RegExp, string])[] = [
  [/^computer_(\d{4})(\d\d)(\d\d)$/, 'computer-use-$1-$2-$3'],
  [/^memory_.*$/, 'context-management-2025-06-27'],
];

const toolBetas = (own: readonly ProviderToolDefinition[]): string[] =>
  own.flatMap(({ definition: { type } }) =>
    TOOL_BETAS.flatMap(([match, beta]) =>
      typeof type === 'string' && match.test(type) ? [type.replace(match, beta)] : [],
    ),
  );

type Choice = { readonly type: 'none' | 'any' } | { readonly type: 'tool'; readonly name: string };

/** The tool that must be called; undefined where the model is free. `others`: there are tools besides the reply's. */
const toolChoice = (request: ModelRequest, others: boolean, reply: string | undefined): Choice | undefined => {
  const choice = request.toolChoice ?? 'auto';
  if (typeof choice === 'object') return { type: 'tool', name: choice.name };
  if (reply !== undefined) return others && choice !== 'none' ? { type: 'any' } : { type: 'tool', name: reply };
  if (choice === 'auto') return undefined;
  return { type: choice === 'none' ? 'none' : 'any' };
};

/** `output_config`: the form of the reply and the effort, and whatever the extra fields of the request have in it. */
const outputConfig = (
  request: ModelRequest,
  format: AnthropicFormat | undefined,
  effort: string | undefined,
): string | undefined => {
  const given = request.providerOptions?.['output_config'];
  const parts = [
    ...(effort === undefined ? [] : [`"effort":"${effort}"`]),
    ...(format?.by === 'output_config' ? [`"format":${format.json}`] : []),
  ];
  if (parts.length === 0) return undefined;
  const own = `{${parts.join(',')}}`;
  return isJsonObject(given) ? toJson({ ...(parseJson(own) as JsonObject), ...given }) : own;
};

/** The extra fields of a request that stand for themselves. `container` is that of a session's first request. */
const extraFields = (
  { providerOptions = {}, containerId }: ModelRequest,
  config: string | undefined,
): JsonObject | undefined => {
  const { output_config: merged, container, ...rest } = providerOptions;
  return {
    ...rest,
    ...(merged !== undefined && (config === undefined || !isJsonObject(merged)) && { output_config: merged }),
    ...(container !== undefined && containerId === undefined && { container }),
  };
};

const BINDING_BETA = 'thinking-binding-controls-2026-08-01';

/** The service found a thinking block behind another prefix than the one it came from. */
const BOUND = /Invalid `?signature`? in `?thinking`? block|bound to a different conversation/i;

const GO_ON = '{"type":"text","text":"(Continue.)"}';

/**
 * Writes requests of the Messages API for one model.
 *
 * @param replyTools Is told the tool that a request's reply will come as, where it is one.
 */
export function createAnthropicEncoder(
  target: WireTarget,
  quirks: Required<AnthropicQuirks>,
  replyTools: WeakMap<ModelRequest, string>,
): Encoder {
  const { modelId } = target;
  const family = familyOf(ANTHROPIC_FAMILIES, modelId, quirks.family);
  /** Messages whose thinking the provider refused. */
  const refused = new WeakSet<ModelMessage>();
  let transcripts = createAnthropicTranscripts(target.provider, refused);
  let mayBind = quirks.blockBinding && family.boundThinking;
  const inBody = quirks.versionIn === 'body';
  const path = typeof quirks.path === 'string' ? quirks.path : quirks.path(modelId);
  const model = toJson(modelId);
  const toolList = createToolLists(target.provider, toolJson);
  const headersWith = (more: readonly string[]): Record<string, string> => {
    const betas = [...new Set([...quirks.betas, ...more])].join(',');
    return {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(inBody ? {} : { 'anthropic-version': quirks.version }),
      ...(betas === '' ? {} : { 'anthropic-beta': betas }),
    };
  };

  const systemJson = createLatest((system) => (system.trim() === '' ? '' : toJson({ type: 'text', text: system })));

  const native = createOnce((format: ResponseFormat) => nativeFormat(format, family));
  const formatOf = (request: ModelRequest): AnthropicFormat | undefined => {
    const format = anthropicFormat(request, family, native);
    if (format?.by === 'tool') replyTools.set(request, format.name);
    return format;
  };

  const recovers: Encoder['recovers'] = ({ messages }, { message, status }) => {
    if (status !== 400) return false;
    if (mayBind && message.includes('block_binding') && !BOUND.test(message)) {
      // A server of this wire that doesn't know the field.
      mayBind = false;
      return true;
    }
    if (!BOUND.test(message) || !refuseThinking(refused, messages, target.provider)) return false;
    transcripts = createAnthropicTranscripts(target.provider, refused);
    return true;
  };

  const encode: Encoder = (request) => {
    const { warn, list: warnings } = createWarnings();
    const marks = cacheMarks(request.cache);
    const transcript = transcripts(request.messages);
    const format = formatOf(request);
    const reply = format?.by === 'tool' ? format : undefined;
    const others = toolList(request);
    const tools = [others, reply?.json].filter(Boolean).join();
    const wanted = tools === '' ? undefined : toolChoice(request, others !== '', reply?.name);
    const demand = family.forcedTool === 'never' ? demandedTool(request, modelId, warn) : undefined;
    const choice = demand === undefined ? wanted : undefined;
    const thinking = anthropicThinking(
      request,
      {
        modelId,
        family,
        forced: choice !== undefined && choice.type !== 'none',
        callsWithoutThinking: transcript.endsWithoutThinking(),
        binds: mayBind,
      },
      warn,
    );
    const { budget } = thinking;
    const config = outputConfig(request, format, thinking.effort);
    const said = format?.by === 'instructions' ? format.text : undefined;
    const system = systemJson(withInstructions(request.system, said, demand));
    const last = request.messages.at(-1);
    // The model can't go on with words of its own.
    const goesOn = !family.prefill && last?.role === 'assistant' && last.stopReason !== 'pause';
    const asked = request.maxTokens ?? quirks.maxTokens;
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      model: inBody ? undefined : model,
      anthropic_version: inBody ? toJson(quirks.version) : undefined,
      stream: 'true',
      system: arrayOf([marks.system ? marked(system, marks.ttl) : system]),
      // A deferred definition is no part of the prompt, and so has no mark.
      tools: arrayOf([marks.tools ? marked(tools, marks.ttl) : tools, deferredJson(request)]),
      messages: transcript.json(marks, goesOn ? GO_ON : ''),
      max_tokens: String(asked > budget ? asked : asked + budget),
      thinking: thinking.json,
      tool_choice: jsonOf(choice),
      output_config: config,
      temperature: jsonOf(takenTemperature(family, request, thinking.on, modelId, warn)),
      stop_sequences: filledJson(request.stopSequences),
      container: jsonOf(request.containerId),
    };
    const body = bodyOf(fields, extraFields(request, config));
    const binding = thinking.json?.includes('block_binding') === true ? [BINDING_BETA] : [];
    const headers = headersWith([...binding, ...toolBetas(providerToolsOf(request, target.provider))]);
    return { path, headers, body, warnings };
  };
  return Object.assign(encode, { recovers });
}
