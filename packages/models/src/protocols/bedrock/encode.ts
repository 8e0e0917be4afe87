import type { JsonObject } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { bedrockInstructions, bedrockOutputConfig } from './format.ts';
import { bedrockModel } from './models.ts';
import type { BedrockQuirks } from './quirks.ts';
import { bedrockReasoning } from './reasoning.ts';
import { createBedrockTranscripts, withCachePoint, type BedrockTranscript } from './transcript.ts';
import { arrayOf, bodyOf, filledJson, jsonOf } from '../shared/body.ts';
import { createLatest, createOnce } from '../shared/fragments.ts';
import { asObject, toJson } from '../shared/json-text.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';
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

const inferenceConfig = (request: ModelRequest, budget: number, ownTemperature: boolean): JsonObject => {
  const { maxTokens, temperature, stopSequences = [] } = request;
  return {
    maxTokens: maxTokens === undefined || maxTokens > budget ? maxTokens : maxTokens + budget,
    temperature: ownTemperature ? undefined : temperature,
    ...(stopSequences.length > 0 && { stopSequences: [...stopSequences] }),
  };
};

/** The caller's fields over ours: they win one by one, so that one more doesn't cost the others. */
const merged = (own: JsonObject, extra: unknown): string | undefined => filledJson({ ...own, ...asObject(extra) });

/** Writes requests of ConverseStream for one model. */
export function createBedrockEncoder(
  target: WireTarget,
  quirks: Required<BedrockQuirks>,
): (request: ModelRequest) => WireRequest {
  const transcripts = createBedrockTranscripts(target.provider);
  const path = `/model/${encodeURIComponent(target.modelId)}/converse-stream`;
  const headers = { 'content-type': 'application/json', accept: 'application/vnd.amazon.eventstream' };
  const model = bedrockModel(target.modelId);
  const reasoning = quirks.reasoning === 'auto' ? model.reasoning : quirks.reasoning;
  const cachePoints = quirks.cachePoints === 'auto' ? model.cachePoints : quirks.cachePoints;

  const systemJson = createLatest((system) => (system.trim() === '' ? '' : toJson({ text: system })));

  const declaredTools = (request: ModelRequest): string => {
    const own = (request.providerTools ?? []).filter((tool) => tool.provider === target.provider);
    return [writeTools(request.tools), ...own.map((tool) => toJson(tool.definition))].filter(Boolean).join(',');
  };

  const cachePointsFor = (request: ModelRequest): CacheMarks => {
    const { tools, system, messages } = cacheMarks(request.cache);
    return {
      tools: tools && cachePoints.includes('tools'),
      system: system && cachePoints.includes('system'),
      messages: cachePoints.includes('messages') ? messages : 'none',
    };
  };

  return (request) => {
    const points = cachePointsFor(request);
    const transcript = transcripts(request.messages);
    const { fields, budget, ownTemperature } = bedrockReasoning(request, reasoning, transcript.endsWithoutThinking());
    const declared = declaredTools(request);
    const forbidden = declared === '' || request.toolChoice === 'none';
    // Where no tool was called yet, leaving them all out forbids them best.
    const tools = forbidden && transcript.called.size === 0 ? '' : declared || formerTools(transcript);
    const messages = transcript.json(points.messages, forbidden && tools !== '' ? NO_TOOLS : '');
    const system = systemJson(bedrockInstructions(request, quirks.responseFormat));
    const toolList = arrayOf([points.tools ? withCachePoint(tools) : tools]);
    const { inferenceConfig: ownInference, additionalModelRequestFields, ...extra } = request.providerOptions ?? {};
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const all = {
      system: arrayOf([points.system ? withCachePoint(system) : system]),
      toolConfig: toolList && `{"tools":${toolList}${toolChoice(request)}}`,
      messages,
      inferenceConfig: merged(inferenceConfig(request, budget, ownTemperature), ownInference),
      outputConfig: jsonOf(bedrockOutputConfig(request, quirks.responseFormat)),
      additionalModelRequestFields: merged(fields, additionalModelRequestFields),
    };
    return { path, headers, body: bodyOf(all, extra) };
  };
}
