import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool, errorText, systemClock, type Clock, type Http, type JsonObject, type Tool } from '@treadle/core';

/** A service that is reached with a key. */
export interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** Makes an image of each prompt, by an OpenAI-compatible API, or removes backgrounds, by a Replicate-compatible one. */
export interface ImageServices {
  readonly generate?: Service;
  readonly background?: Service;
}

/** Images that came as bytes, kept under names that nobody guesses. */
export interface ImageStore {
  /** Returns the path under which the image is served. The type is `image/png` unless given. */
  keep(bytes: Uint8Array, mediaType?: string): string;
  find(name: string): { readonly bytes: Uint8Array; readonly mediaType: string } | null;
}

const ENDINGS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};
const NAME = /^[0-9a-f]{32}\.(png|jpg|webp|gif)$/;
const KEPT_IMAGES = 200;

/** Keeps images in the folder; without one in memory, the newest ones. */
export function createImageStore(folder: string | null = null): ImageStore {
  const images = new Map<string, Uint8Array>();
  if (folder !== null) mkdirSync(folder, { recursive: true, mode: 0o700 });

  function read(name: string): Uint8Array | null {
    if (folder === null) return images.get(name) ?? null;
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path) : null;
  }

  return {
    keep(bytes, mediaType = 'image/png') {
      const ending = ENDINGS[mediaType];
      if (ending === undefined)
        throw new Error(`Images of type ${mediaType} can't be kept: use PNG, JPEG, WebP or GIF.`);
      const name = `${randomBytes(16).toString('hex')}.${ending}`;
      if (folder !== null) writeFileSync(join(folder, name), bytes, { mode: 0o600 });
      else images.set(name, bytes);
      const [oldest] = images.keys();
      if (images.size > KEPT_IMAGES && oldest !== undefined) images.delete(oldest);
      return `/images/${name}`;
    },
    find(name) {
      const [, ending] = NAME.exec(name) ?? [];
      const bytes = ending === undefined ? null : read(name);
      const mediaType = Object.keys(ENDINGS).find((type) => ENDINGS[type] === ending);
      return bytes && mediaType ? { bytes, mediaType } : null;
    },
  };
}

interface Tools {
  readonly services: ImageServices;
  readonly http: Http;
  readonly store: ImageStore;
  readonly clock?: Clock;
}

/** At most so many requests at a time. */
const BATCH = 20;
const TIMEOUT_MS = 120_000;
const POLL_MS = 1000;
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** The tools for which there is a service; a model isn't told of the others. */
export function imageTools({ services, http, store, clock = systemClock }: Tools): Tool[] {
  const { generate, background } = services;
  const many = { type: 'array', minItems: 1, maxItems: 100, items: { type: 'string', minLength: 1 } } as const;
  return [
    ...(generate
      ? [
          defineTool({
            name: 'generate_images',
            description: 'Makes an image of each description and returns their URLs. Ask for all of them in one call.',
            inputSchema: { type: 'object', properties: { prompts: many }, required: ['prompts'] },
            timeoutMs: TIMEOUT_MS,
            execute: ({ prompts }, { signal }) =>
              eachOf([...new Set(prompts)], 'prompt', (prompt) =>
                generateImage(prompt, generate, { http, store, signal }),
              ),
          }),
        ]
      : []),
    ...(background
      ? [
          defineTool({
            name: 'remove_background',
            description: 'Removes the backgrounds of images, and returns the URLs of the new ones.',
            inputSchema: { type: 'object', properties: { image_urls: many }, required: ['image_urls'] },
            timeoutMs: TIMEOUT_MS,
            execute: ({ image_urls: urls }, { signal }) =>
              eachOf([...new Set(urls)], 'image_url', (url) =>
                removeBackground(url, background, { http, clock, signal }),
              ),
          }),
        ]
      : []),
  ];
}

/** Does the work for each of them, and says of each what it came to: one that fails doesn't fail the rest. */
async function eachOf(items: readonly string[], key: string, work: (item: string) => Promise<string>) {
  const results: JsonObject[] = [];
  for (let at = 0; at < items.length; at += BATCH) {
    const batch = items.slice(at, at + BATCH).map(async (item): Promise<JsonObject> => {
      try {
        return { [key]: item, status: 'ok', url: await work(item) };
      } catch (error) {
        return { [key]: item, status: 'error', error: errorText(error) };
      }
    });
    results.push(...(await Promise.all(batch)));
  }
  const isError = results.every(({ status }) => status === 'error');
  return { content: JSON.stringify(results), isError, details: { summary: { images: results } } };
}

async function generateImage(
  prompt: string,
  { baseUrl, apiKey, model }: Service,
  { http, store, signal }: Pick<Tools, 'http' | 'store'> & { readonly signal: AbortSignal },
): Promise<string> {
  const reply = await callJson(http, {
    method: 'POST',
    url: `${baseUrl}/images/generations`,
    apiKey,
    body: { model, prompt, n: 1 },
    signal,
  });
  const [image] = Array.isArray(reply['data']) ? (reply['data'] as JsonObject[]) : [];
  if (typeof image?.['url'] === 'string') return image['url'];
  if (typeof image?.['b64_json'] === 'string') return store.keep(Buffer.from(image['b64_json'], 'base64'));
  throw new Error('The image service answered without an image.');
}

async function removeBackground(
  image: string,
  { baseUrl, apiKey, model }: Service,
  { http, clock, signal }: { readonly http: Http; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string> {
  const body = { version: model, input: { image } };
  let prediction = await callJson(http, { method: 'POST', url: `${baseUrl}/predictions`, apiKey, body, signal });
  for (;;) {
    const { status, output, id, error } = prediction;
    if (status === 'succeeded') {
      const url: unknown = Array.isArray(output) ? output[0] : output;
      if (typeof url === 'string') return url;
      throw new Error('The image service answered without an image.');
    }
    if (status !== 'starting' && status !== 'processing') {
      throw new Error(`The image service says: ${typeof error === 'string' ? error : JSON.stringify(status)}.`);
    }
    if (typeof id !== 'string' || !/^[\w-]+$/.test(id)) throw new Error('The image service gave no id of its work.');
    await pause(clock, POLL_MS, signal);
    // Asked for at the address we know: one that an answer names would be given the key.
    prediction = await callJson(http, { method: 'GET', url: `${baseUrl}/predictions/${id}`, apiKey, signal });
  }
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(new Error('It took too long, or was cancelled.'));
    };
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

interface Call {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly apiKey: string;
  readonly body?: JsonObject;
  readonly signal: AbortSignal;
}

async function callJson(http: Http, { method, url, apiKey, body, signal }: Call): Promise<JsonObject> {
  const response = await http({
    method,
    url,
    headers: { authorization: `Bearer ${apiKey}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal,
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new Error('The answer of the image service is too long.');
    chunks.push(chunk);
  }
  // What a service says of an error may quote the key.
  if (response.status >= 300) throw new Error(`The image service answered with HTTP ${response.status}.`);
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // Said below.
  }
  throw new Error('The image service answered with something that is no JSON object.');
}
