import type { Http, JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import type { HttpRequest } from '@treadle/core/ports';
import { nodeHttp, resolveModel } from '@treadle/models';

import { ask, inTime, question, type ProbeLimits } from './ask.ts';

/** Where a wire that tells of its models does so, from the address of a request for a reply. */
const MODEL_ADDRESSES: readonly (readonly [RegExp, string])[] = [
  [/\/chat\/completions$/, '/models'],
  [/\/responses$/, '/models'],
  [/\/messages$/, '/models'],
  [/:streamGenerateContent$/, ''],
];

/** What servers call it: vLLM, Groq, Mistral and LM Studio, OpenRouter and Together, Gemini, llama.cpp. */
const FIELDS = [
  'max_model_len',
  'context_window',
  'max_context_length',
  'context_length',
  'max_input_tokens',
  'inputTokenLimit',
  'n_ctx',
  'n_ctx_train',
];

const MOST_BYTES = 16_000_000;

/** The tokens the server says that the model takes; null when it doesn't say. */
export async function contextLength(name: string, limits: ProbeLimits): Promise<number | null> {
  const [provider = ''] = name.split('/');
  const sent = await requestFor(name, limits);
  if (sent === null) return null;
  const url = new URL(sent.url);
  const place = MODEL_ADDRESSES.find(([path]) => path.test(url.pathname));
  if (!place) return null;
  url.pathname = url.pathname.replace(...place);
  url.searchParams.delete('alt');
  const headers = Object.entries(sent.headers).filter(([header]) => !/^(?:content-|accept$)/i.test(header));
  const http = nodeHttp({ env: limits.io.env });
  const told = await inTime(limits, (signal) =>
    readJson(http, { method: 'GET', url: url.href, headers: Object.fromEntries(headers), signal }),
  ).catch(() => null);
  return told === null ? null : lengthIn(told, name.slice(provider.length + 1));
}

/** The request that a reply would take, credentials and all. It stays here. */
async function requestFor(name: string, limits: ProbeLimits): Promise<HttpRequest | null> {
  const seen: HttpRequest[] = [];
  const http: Http = (request) => {
    seen.push(request);
    return Promise.reject(new Error('This request is only looked at.'));
  };
  await ask(resolveModel(name, { env: limits.io.env, http }), question('Nothing.'), limits);
  return seen[0] ?? null;
}

async function readJson(http: Http, request: HttpRequest): Promise<JsonValue | null> {
  const response = await http(request);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body) {
    size += part.byteLength;
    if (response.status !== 200 || size > MOST_BYTES) return null;
    parts.push(part);
  }
  return response.status === 200 ? (parseJson(Buffer.concat(parts).toString('utf8')) as JsonValue) : null;
}

/** The length in a list of models (`{ data: […] }`, or bare), or in what is told of one. */
function lengthIn(told: JsonValue, modelId: string): number | null {
  const list = isJsonObject(told) ? (told['data'] ?? told['models']) : told;
  if (!Array.isArray(list)) return isJsonObject(told) ? lengthOf(told) : null;
  const row = list.filter(isJsonObject).find((candidate) => [candidate['id'], candidate['name']].includes(modelId));
  return row === undefined ? null : lengthOf(row);
}

function lengthOf(row: JsonObject): number | null {
  for (const place of [row, row['top_provider'], row['meta']]) {
    if (!isJsonObject(place)) continue;
    for (const field of FIELDS) {
      const value = place[field];
      if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
    }
  }
  return null;
}
