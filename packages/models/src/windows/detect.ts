import { isJsonObject, parseJson } from '@treadle/core/json';
import type { Http, JsonObject, JsonValue } from '@treadle/core';

/** A question to a server about a model: a path, below the base URL or from the root, and a body where it wants one. */
export interface WindowQuestion {
  readonly path: string;
  readonly body?: JsonObject;
  /** The window in the answer; undefined where it doesn't say. */
  readonly read: (answer: JsonObject, modelId: string) => number | undefined;
}

const isWindow = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

/** What servers call it, those that say how much they have loaded before those that say what the model could hold. */
const FIELDS = ['loaded_context_length', 'max_model_len', 'n_ctx', 'context_length', 'max_context_length'];

const windowIn = (row: JsonObject): number | undefined => FIELDS.map((field) => row[field]).find(isWindow);

/** The window in a list of models, `{ data: […] }`. */
export function listedWindow(answer: JsonObject, modelId: string): number | undefined {
  const rows = Array.isArray(answer['data']) ? (answer['data'] as readonly JsonValue[]).filter(isJsonObject) : [];
  const row = rows.find(({ id }) => id === modelId);
  return row && (windowIn(row) ?? (isJsonObject(row['meta']) ? windowIn(row['meta']) : undefined));
}

/** The window of llama.cpp's slots, as `/props` says. */
export function slotWindow(answer: JsonObject): number | undefined {
  const settings = answer['default_generation_settings'];
  return isJsonObject(settings) ? windowIn(settings) : undefined;
}

/** The most that is taken of a model's own length unasked: what a server keeps in memory grows with it. */
const MOST_UNASKED = 32_768;

/** What Ollama says of a model: the length its author set, else as much of its own as is sensible. */
export function ollamaWindow({ parameters, model_info: info }: JsonObject): number | undefined {
  const set = typeof parameters === 'string' ? /^num_ctx\s+(\d+)/m.exec(parameters)?.[1] : undefined;
  if (set !== undefined) return Number(set);
  const length = isJsonObject(info)
    ? Object.entries(info).find(([key]) => key.endsWith('.context_length'))?.[1]
    : undefined;
  return isWindow(length) ? Math.min(length, MOST_UNASKED) : undefined;
}

const MOST_BYTES = 16_000_000;

async function answerOf(
  http: Http,
  url: string,
  headers: Readonly<Record<string, string>>,
  { body }: WindowQuestion,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const response = await http({
    method: body === undefined ? 'GET' : 'POST',
    url,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal,
  });
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of response.body) {
    text += decoder.decode(part, { stream: true });
    if (text.length > MOST_BYTES) return undefined;
  }
  const answer = response.status === 200 ? parseJson(text) : undefined;
  return isJsonObject(answer) ? answer : undefined;
}

/** The first window that a server tells; undefined where it tells none. Never throws: a server need not know the question. */
export async function detectWindow(
  questions: readonly WindowQuestion[],
  modelId: string,
  {
    http,
    baseUrl,
    headers,
  }: { readonly http: Http; readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<number | undefined> {
  for (const question of questions) {
    try {
      const answer = await answerOf(
        http,
        new URL(question.path, baseUrl.replace(/\/?$/, '/')).href,
        headers,
        question,
        signal,
      );
      const window = answer && question.read(answer, modelId);
      if (window !== undefined) return window;
    } catch {
      // It doesn't know the question, or isn't there; the call itself says so.
    }
  }
  return undefined;
}
