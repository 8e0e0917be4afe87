import type { JsonObject, ModelMessage } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { bedrockInstructions, bedrockOutputConfig } from './format.ts';
import { createWarnings, demandedTool, takenTemperature, withInstructions } from '../../rules/rules.ts';
import { bedrockFamily, bedrockModel } from './models.ts';
import type { BedrockQuirks } from './quirks.ts';
import { bedrockReasoning } from './reasoning.ts';
import { createBedrockTranscripts, withCachePoint, type BedrockTranscript } from './transcript.ts';
import { arrayOf, bodyOf, filledJson, jsonOf } from '../shared/body.ts';
import { createLatest, createOnce } from '../shared/fragments.ts';
import { asObject, toJson } from '../shared/json-text.ts';
import { refuseThinking } from '../shared/call-ids.ts';
import type { Encoder, WireTarget } from '../shared/protocol.ts';
import { cacheMarks, type CacheMarks } from '../shared/turns.ts';

/** The wire can't forbid tools that it was told of, and wants to be told of tools that were called. So this asks. */
const NO_TOOLS = '{"text":"(Answer without calling a tool.)"}';

const toolSpec = (name: string, description: string, parameters: JsonObject): string =>
  toJson({
    toolSpec: { name, ...(description.trim() === '' ? {} : { description }), inputSchema: { json: parameters } },
  });

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools.map(({ name, description, inputSchema: parameters }) => toolSpec(name, description, parameters)).join(','),
);

const toolChoice = (request: ModelRequest): string => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto' || choice === 'none') return '';
  return `,"toolChoice":${choice === 'required' ? '{"any":{}}' : toJson({ tool: { name: choice.name } })}`;
};

/** Undeclared tools that the conversation has calls of: the wire refuses such a conversation without any tool. */
const formerTools = (transcript: BedrockTranscript): string =>
  [...transcript.called]
    .map((name) => toolSpec(name, 'No longer available.', { type: 'object', properties: {} }))
    .join(',');

const inferenceConfig = (request: ModelRequest, budget: number, temperature: number | undefined): JsonObject => {
  const { maxTokens, stopSequences = [] } = request;
  return {
    maxTokens: maxTokens === undefined || maxTokens > budget ? maxTokens : maxTokens + budget,
    temperature,
    ...(stopSequences.length > 0 && { stopSequences: [...stopSequences] }),
  };
};

/** The caller's fields over ours: they win one by one, so that one more doesn't cost the others. */
const merged = (own: JsonObject, extra: unknown): string | undefined => filledJson({ ...own, ...asObject(extra) });

/** Writes requests of ConverseStream for one model. */
export function createBedrockEncoder(target: WireTarget, quirks: Required<BedrockQuirks>): Encoder {
  const { modelId, provider } = target;
  /** Messages whose thinking the service refused. */
  const refused = new WeakSet<ModelMessage>();
  let transcripts = createBedrockTranscripts(provider, refused);
  const path = `/model/${encodeURIComponent(target.modelId)}/converse-stream`;
  const headers = { 'content-type': 'application/json', accept: 'application/vnd.amazon.eventstream' };
  const model = bedrockModel(target.modelId);
  const how = quirks.reasoning === 'auto' ? model.reasoning : quirks.reasoning;
  const family = bedrockFamily(modelId, how, quirks.family);
  const cachePoints = quirks.cachePoints === 'auto' ? model.cachePoints : quirks.cachePoints;

  const systemJson = createLatest((system) => (system.trim() === '' ? '' : toJson({ text: system })));

  const declaredTools = (request: ModelRequest): string => {
    const own = (request.providerTools ?? []).filter((tool) => tool.provider === target.provider);
    return [writeTools(request.tools), ...own.map((tool) => toJson(tool.definition))].filter(Boolean).join(',');
  };

  const cachePointsFor = (request: ModelRequest): CacheMarks => {
    const { tools, system, messages, ...ttl } = cacheMarks(request.cache);
    return {
      tools: tools && cachePoints.includes('tools'),
      system: system && cachePoints.includes('system'),
      messages: cachePoints.includes('messages') ? messages : 'none',
      ...ttl,
    };
  };

  const recovers: Encoder['recovers'] = ({ messages }, { message }) => {
    if (!/Invalid `?signature`? in `?thinking`? block|bound to a different conversation/i.test(message)) return false;
    if (!refuseThinking(refused, messages, provider)) return false;
    transcripts = createBedrockTranscripts(provider, refused);
    return true;
  };

  const encode: Encoder = (request) => {
    const { warn, list: warnings } = createWarnings();
    const points = cachePointsFor(request);
    const transcript = transcripts(request.messages);
    const demand = family.forcedTool === 'never' ? demandedTool(request, modelId, warn) : undefined;
    const choice = demand === undefined ? toolChoice(request) : '';
    const callsWithoutThinking = transcript.endsWithoutThinking();
    const facts = { modelId, how, family, forced: choice !== '', callsWithoutThinking };
    const { fields, budget, on } = bedrockReasoning(request, facts, warn);
    const temperature = takenTemperature(family, request, on, modelId, warn);
    const declared = declaredTools(request);
    const forbidden = declared === '' || request.toolChoice === 'none';
    // Where no tool was called yet, leaving them all out forbids them best.
    const tools = forbidden && transcript.called.size === 0 ? '' : declared || formerTools(transcript);
    const messages = transcript.json(points, forbidden && tools !== '' ? NO_TOOLS : '');
    const system = systemJson(withInstructions(bedrockInstructions(request, quirks.responseFormat), demand));
    const toolList = arrayOf([points.tools ? withCachePoint(tools, points.ttl) : tools]);
    const { inferenceConfig: ownInference, additionalModelRequestFields, ...extra } = request.providerOptions ?? {};
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const all = {
      system: arrayOf([points.system ? withCachePoint(system, points.ttl) : system]),
      toolConfig: toolList && `{"tools":${toolList}${choice}}`,
      messages,
      inferenceConfig: merged(inferenceConfig(request, budget, temperature), ownInference),
      outputConfig: jsonOf(bedrockOutputConfig(request, quirks.responseFormat)),
      additionalModelRequestFields: merged(fields, additionalModelRequestFields),
    };
    return { path, headers, body: bodyOf(all, extra), warnings };
  };
  return Object.assign(encode, { recovers });
}
