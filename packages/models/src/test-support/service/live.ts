import type { Http, Model } from '@treadle/core';
import type { ModelEvent, ModelRequest, Usage } from '@treadle/core/model';
import type { ProviderRequest } from '@treadle/testing';
import { resolveModel } from '../../deployments.ts';
import type { ModelOptions } from '../../deployments/deployment.ts';
import { defaultHttp } from '../../http/default-http.ts';
import type { SentRequest, Stage } from './cells.ts';

/** What a check of real services may cost, has cost, and was told. */
export interface Live {
  /** US dollars at most. */
  readonly maxCost: number;
  spent: number;
  /** Calls that failed, in the service's own words, without secrets. */
  readonly errors: string[];
}

/** Tokens of a reply at most, thinking included. */
const MOST_TOKENS = 16_000;
/** Fewer than these are no reply to judge a model by. */
const LEAST_TOKENS = 512;
/** The fewest bytes that make a token. An estimate with them is no smaller than the bill. */
const BYTES_PER_TOKEN = 2;

const COUNTS: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: null };

const WIRES: readonly (readonly [RegExp, ProviderRequest['wire']])[] = [
  [/\/messages$/, 'anthropic-messages'],
  [/\/converse/, 'bedrock-converse'],
  [/:streamGenerateContent/, 'gemini'],
  [/\/chat\/completions$/, 'openai-chat'],
];

/** The stage of a model at its own service. */
export function liveStage(name: string, live: Live, options: ModelOptions): Stage {
  const requests: SentRequest[] = [];
  const send = options.http ?? defaultHttp(options.env ?? process.env);
  const http: Http = (request) => {
    if (typeof request.body === 'string') {
      const wire = WIRES.find(([path]) => path.test(new URL(request.url).pathname))?.[1];
      requests.push({
        wire,
        rawBody: request.body,
        body: JSON.parse(request.body) as SentRequest['body'],
        problems: [],
      });
    }
    return send(request);
  };
  const model = limited(resolveModel(name, { ...options, http }), live);
  return { model, requests, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** The model, which is asked only what the rest of the money surely pays for. */
function limited(model: Model, live: Live): Model {
  const price = (usage: Partial<Usage>): number => {
    const cost = model.cost?.({ ...COUNTS, ...usage }) ?? null;
    if (cost === null) throw new Error(`No price is known for ${model.id}, so no limit would hold.`);
    return cost;
  };
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const { messages, tools, system } = request;
    const prompt = Math.ceil(JSON.stringify([messages, tools, system]).length / BYTES_PER_TOKEN);
    const written = Math.max(price({ input: prompt }), price({ cacheWrite: prompt }));
    const left = (live.maxCost - live.spent - written) / price({ output: 1 });
    const maxTokens = Math.floor(Math.min(request.maxTokens ?? MOST_TOKENS, MOST_TOKENS, left));
    if (maxTokens < Math.min(LEAST_TOKENS, request.maxTokens ?? LEAST_TOKENS)) {
      const message = `The cost limit of $${live.maxCost} is reached.`;
      yield { type: 'error', error: { kind: 'other', code: 'cost_limit', message, retryable: false } };
      return;
    }
    const most = written + price({ output: maxTokens });
    live.spent += most;
    for await (const event of model.stream({ ...request, maxTokens }, signal)) {
      // What isn't counted is taken to have cost all that it may.
      if (event.type === 'finish') live.spent += (model.cost?.(event.usage) ?? most) - most;
      if (event.type === 'error') {
        const { status = event.error.kind, message, excerpt = message } = event.error;
        if (typeof status === 'number' && status >= 400) live.spent -= most;
        live.errors.push(`${model.id}: ${status}: ${excerpt.replaceAll(/\s+/g, ' ')}`);
      }
      yield event;
    }
  }
  return Object.assign(Object.create(model) as Model, { stream });
}
