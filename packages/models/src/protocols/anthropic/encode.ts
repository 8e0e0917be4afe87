import { isJsonObject, parseJson } from '@treadle/core/json';
import type { JsonObject, ProviderToolDefinition, ResponseFormat } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { anthropicFormat, nativeFormat, type AnthropicFormat } from './format.ts';
import type { AnthropicQuirks } from './quirks.ts';
import { anthropicThinking } from './thinking.ts';
import { createAnthropicTranscripts, marked } from './transcript.ts';
import { arrayOf, bodyOf, filledJson, jsonOf } from '../shared/body.ts';
import { createLatest, createOnce } from '../shared/fragments.ts';
import { toJson } from '../shared/json-text.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';
import { cacheMarks } from '../shared/turns.ts';

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools
    .map(({ name, description, inputSchema: parameters }) => toJson({ name, description, input_schema: parameters }))
    .join(','),
);

const ownTools = (tools: readonly ProviderToolDefinition[] | undefined, provider: string): string =>
  (tools ?? [])
    .filter((tool) => tool.provider === provider)
    .map((tool) => toJson(tool.definition))
    .join(',');

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

/** The extra fields of a request that stand for themselves. */
const extraFields = ({ providerOptions }: ModelRequest, config: string | undefined): JsonObject | undefined => {
  if (config === undefined || !isJsonObject(providerOptions?.['output_config'])) return providerOptions;
  const { output_config: _merged, ...rest } = providerOptions;
  return rest;
};

/**
 * Writes requests of the Messages API for one model.
 *
 * @param replyTools Is told the tool that a request's reply will come as, where it is one.
 */
export function createAnthropicEncoder(
  target: WireTarget,
  quirks: Required<AnthropicQuirks>,
  replyTools: WeakMap<ModelRequest, string>,
): (request: ModelRequest) => WireRequest {
  const transcripts = createAnthropicTranscripts(target.provider);
  const model = toJson(target.modelId);
  const betas = [...new Set(quirks.betas)].join(',');
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'anthropic-version': quirks.version,
    ...(betas === '' ? {} : { 'anthropic-beta': betas }),
  };

  const systemJson = createLatest((system) => (system.trim() === '' ? '' : toJson({ type: 'text', text: system })));

  const native = createOnce((format: ResponseFormat) => nativeFormat(format, target.modelId, quirks));
  const formatOf = (request: ModelRequest): AnthropicFormat | undefined => {
    const format = anthropicFormat(request, native);
    if (format?.by === 'tool') replyTools.set(request, format.name);
    return format;
  };

  return (request) => {
    const marks = cacheMarks(request.cache);
    const transcript = transcripts(request.messages);
    const format = formatOf(request);
    const reply = format?.by === 'tool' ? format : undefined;
    const others = [writeTools(request.tools), ownTools(request.providerTools, target.provider)].filter(Boolean);
    const tools = [...others, ...(reply === undefined ? [] : [reply.json])].join(',');
    const choice = tools === '' ? undefined : toolChoice(request, others.length > 0, reply?.name);
    const thinking = anthropicThinking(request, target.modelId, quirks.thinking, {
      forced: choice !== undefined && choice.type !== 'none',
      callsWithoutThinking: transcript.endsWithoutThinking(),
    });
    const budget = thinking?.budget ?? 0;
    const config = outputConfig(request, format, thinking?.effort);
    const system = systemJson(request.system);
    const asked = request.maxTokens ?? quirks.maxTokens;
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      model,
      stream: 'true',
      system: arrayOf([marks.system ? marked(system) : system]),
      tools: arrayOf([marks.tools ? marked(tools) : tools]),
      messages: transcript.json(marks.messages),
      max_tokens: String(asked > budget ? asked : asked + budget),
      thinking: thinking?.json,
      tool_choice: jsonOf(choice),
      output_config: config,
      // With thinking the API takes no temperature but its own.
      temperature: thinking === undefined ? jsonOf(request.temperature) : undefined,
      stop_sequences: filledJson(request.stopSequences),
      container: jsonOf(request.containerId),
    };
    return { path: quirks.path, headers, body: bodyOf(fields, extraFields(request, config)) };
  };
}
