import type { Model, ModelError } from '@treadle/core';

import { defined } from '../defined.ts';
import { ask, question, type ProbeLimits } from './ask.ts';

/** Whether a model can be reached at all. */
export interface ProbeResult {
  readonly model: string;
  readonly ok: boolean;
  /** Milliseconds to the end of the reply; null when nothing was sent. */
  readonly ms: number | null;
  readonly error:
    (Pick<ModelError, 'kind' | 'message' | 'code' | 'status' | 'requestId'> & { readonly advice: string }) | null;
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

/** Asks for one token. */
export async function probe(named: NamedModel, limits: ProbeLimits): Promise<ProbeResult> {
  const { name, model } = named;
  if (!isModel(model)) return { model: name, ok: false, ms: null, error: withAdvice(model, named) };
  const { ms, error } = await ask(model, question('Say OK.', { maxTokens: 1 }), limits);
  return { model: name, ok: error === null, ms, error: error && withAdvice(error, named) };
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
