import type { Model, ModelError } from '@treadle/core';

import { defined } from '../defined.ts';
import { ask, question, type ProbeLimits, type Reply } from './ask.ts';
import { callProblem, finding, streaming, TOOL, type Finding } from './conformance.ts';
import { contextLength } from './context-length.ts';

/** Whether a model can be reached, and what one reply of it shows. */
export interface ProbeResult {
  readonly model: string;
  readonly ok: boolean;
  /** Milliseconds to the end of the reply; null when nothing was sent. */
  readonly ms: number | null;
  readonly error:
    (Pick<ModelError, 'kind' | 'message' | 'code' | 'status' | 'requestId'> & { readonly advice: string }) | null;
  /** Empty when there was no reply. */
  readonly findings: readonly Finding[];
}

/** A model of that name, or why there can be none. */
export interface NamedModel {
  readonly name: string;
  readonly model: Model | ModelError;
  /** The variables that may hold the key. */
  readonly variables: readonly string[];
  /** Its address, where that has no version such as `/v1`, which most servers of its kind want. */
  readonly versionless: string | null;
}

export const isModel = (value: Model | ModelError): value is Model => 'stream' in value;

/** Tokens of the reply at most: enough for a model that thinks first. */
const MOST_TOKENS = 2048;

/** Asks for one call of a tool. */
export async function probe(named: NamedModel, limits: ProbeLimits): Promise<ProbeResult> {
  const { name, model } = named;
  if (!isModel(model)) return { model: name, ok: false, ms: null, error: withAdvice(model, named), findings: [] };
  const text = 'Say that you will look, then call get_temperature for Paris.';
  const reply = await ask(model, question(text, { tools: [TOOL], maxTokens: MOST_TOKENS, cache: 'auto' }), limits);
  const { ms, error } = reply;
  if (error !== null) return { model: name, ok: false, ms, error: withAdvice(error, named), findings: [] };
  const length = model.contextWindow ?? (await contextLength(name, limits));
  const findings = [
    finding('key', 'pass', 'accepted'),
    length === null
      ? finding('context_length', 'unknown', 'neither the catalogue nor the server says')
      : finding('context_length', 'pass', `${length} tokens`),
    reply.deltas > 1 ? streaming(reply) : finding('streaming', 'unknown', 'so short a reply came in one piece'),
    callProblem(reply, 1) ?? finding('tool_call', 'pass', 'called with arguments that fit'),
    caching(reply),
  ];
  return { model: name, ok: true, ms, error: null, findings };
}

/** So short a prompt is mostly not kept; a count, also of none, says that the provider keeps longer ones. */
function caching({ usage }: Reply): Finding {
  const { cacheRead = null, cacheWrite = null } = usage ?? {};
  if (cacheRead === null && cacheWrite === null) {
    return finding('caching', 'unknown', 'the reply does not say how many tokens were cached');
  }
  const written = cacheWrite === null ? '' : `, ${cacheWrite} written`;
  return finding('caching', 'pass', `${cacheRead ?? 0} tokens read${written}`);
}

function withAdvice(error: ModelError, named: NamedModel): NonNullable<ProbeResult['error']> {
  const { kind, message, code, status, requestId } = error;
  return { kind, message, ...defined({ code, status, requestId }), advice: adviceFor(error, named) };
}

function adviceFor({ kind, status, code, retryAfterMs }: ModelError, { variables, versionless }: NamedModel): string {
  if (code === 'invalid_definition') return 'Nothing was sent: change the configuration as the message says.';
  if (code === 'timeout')
    return 'A model that is being loaded may need longer: --timeout SECONDS. Else look at the server.';
  switch (kind) {
    case 'auth':
      return status === 403
        ? 'The key is known, but may not use this model: look at its rights, or at the account.'
        : `Look at ${variables.join(' or ') || 'the credentials'}: is it whole, of this provider, and still valid?`;
    case 'rate_limited':
      return `The key works. Try again ${retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s`}, or look at the account's limits and credit.`;
    case 'network':
      return 'Is the address right (treadle doctor lists them), does the server run, and is a proxy in the way?';
    case 'api':
      if (status === 404 && versionless !== null)
        return `The base URL ${versionless} has no version at its end, and most servers of this kind want one: try ${versionless}/v1.`;
      if (status === 404)
        return "Is the model's name the provider's own, and does the base URL end where its API begins?";
      return (status ?? 500) >= 500
        ? 'The provider has a problem of its own: try again later.'
        : 'The server refuses the request itself: it may speak another protocol, or not know this model.';
    default:
      return 'The message says what is known.';
  }
}
