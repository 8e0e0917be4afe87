import { TreadleError } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import type { Clock, Model, ModelMessage, UserContent } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';

import { McpProblem } from './problem.ts';
import type { Sample, SamplingRequest } from './sampling-types.ts';

/** What servers may ask of a model, at whose cost. */
export interface SamplingOptions {
  readonly model: Model;
  /** Calls in all, of all servers. Default 20. */
  readonly maxCalls?: number;
  /** Output tokens of one call, whatever a server asks for. Default 4,096. */
  readonly maxTokens?: number;
  /** US dollars in all. A call that could cost more than what is left is refused, and so is one whose price is unknown. */
  readonly maxCost?: number;
}

/** Makes the calls that servers ask for, within one budget. @throws TreadleError `invalid_definition`. */
export function samplerOf(options: SamplingOptions, clock: Clock): Sample {
  const { model, maxCalls = 20, maxTokens = 4096, maxCost } = options;
  for (const [name, value] of Object.entries({ maxCalls, maxTokens, maxCost: maxCost ?? 1 })) {
    if (!(value > 0)) throw new TreadleError('invalid_definition', `sampling.${name} must be greater than 0.`);
  }
  let calls = 0;
  let spent = 0;
  return async (params, signal) => {
    const request = requestOf(params, maxTokens, clock.now());
    // Set aside before the call: calls at the same time can't spend the same money.
    const most = maxCost === undefined ? 0 : (worstCost(model, request) ?? Number.POSITIVE_INFINITY);
    if (calls >= maxCalls || (maxCost !== undefined && spent + most > maxCost)) {
      throw new McpProblem('refused', 'The budget for model calls of MCP servers is used up.');
    }
    calls += 1;
    spent += most;
    const reply = await replyOf(model, request, signal);
    spent += Math.min(0, (model.cost?.(reply.usage) ?? most) - most);
    return {
      role: 'assistant',
      model: model.id,
      content: { type: 'text', text: reply.text },
      stopReason: reply.cut ? 'maxTokens' : 'endTurn',
    };
  };
}

function requestOf(params: SamplingRequest, most: number, at: number): ModelRequest {
  const { systemPrompt = '', messages, maxTokens, temperature, stopSequences } = params;
  return {
    system: systemPrompt,
    messages: messages.map(({ role, content }, index): ModelMessage => {
      const blocks = (Array.isArray(content) ? content : [content]).map(contentOf);
      const id = `sampling_${index}`;
      if (role === 'user') return { role, id, at, origin: 'import', content: blocks };
      return {
        role: 'assistant',
        id,
        at,
        provider: 'mcp',
        model: 'unknown',
        content: blocks,
        stopReason: 'stop',
        usage: UNKNOWN_USAGE,
        cost: null,
      };
    }),
    tools: [],
    maxTokens: Math.min(most, maxTokens),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
  };
}

function contentOf(content: unknown): UserContent {
  const { type, text, data, mimeType } = Object(content) as Readonly<Record<string, unknown>>;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if ((type === 'image' || type === 'audio') && typeof data === 'string' && typeof mimeType === 'string') {
    return { type: type === 'image' ? 'image' : 'file', mediaType: mimeType, data };
  }
  throw new McpProblem('bad_answer', 'The server wants a model to read content of a kind that was not offered.');
}

/** What a call can cost: all output tokens, and a token for every two characters of input. */
function worstCost(model: Model, request: ModelRequest): number | null {
  const input = Math.ceil(JSON.stringify([request.system, request.messages]).length / 2);
  const counts = { input, output: request.maxTokens ?? 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  return model.cost?.(counts) ?? null;
}

async function replyOf(model: Model, request: ModelRequest, signal: AbortSignal) {
  let text = '';
  for await (const event of model.stream(request, signal)) {
    if (event.type === 'start') text = '';
    if (event.type === 'block_end' && event.block.type === 'text') text += event.block.text;
    if (event.type === 'error') throw new McpProblem('refused', `The model could not be called: ${event.error.kind}.`);
    if (event.type === 'finish') return { text, usage: event.usage, cut: event.stopReason === 'length' };
  }
  throw new McpProblem('refused', "The model's reply was cut off.");
}
