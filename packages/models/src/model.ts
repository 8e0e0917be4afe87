import { errorText, systemClock, type Clock, type Http, type Model, type Usage } from '@treadle/core';
import type { ModelFiles, ModelRequest } from '@treadle/core/model';
import type { HttpResponse } from '@treadle/core/ports';
import { authorizedHttp, type CredentialProvider } from './auth/credentials.ts';
import { defined } from '@treadle/core/json';
import { createRedact, type Redact } from './errors/redact.ts';
import { createLatest } from './protocols/shared/fragments.ts';
import { CacheWatch } from './stream/cache-watch.ts';
import { createModelStream } from './stream/model-stream.ts';
import type { StreamSetup } from './stream/setup.ts';
import type { Protocol } from './protocols/shared/protocol.ts';
import { detectWindow, type WindowQuestion } from './windows/detect.ts';

/** What reading a provider's files needs of a model: its address, its credentials and what keeps them out of errors. */
export interface FilesWire {
  /** `path` is below the base URL. Redirects are not followed. */
  get(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HttpResponse>;
  redact(text: string): string;
}

/** Everything a {@link Model} of a wire is made of. */
export interface WireModelOptions {
  readonly protocol: Protocol;
  /** Stable lowercase name; opaque blocks return only to the same one. */
  readonly provider: string;
  readonly modelId: string;
  /** The model's name for people. */
  readonly name?: string;
  /** For example `https://api.example.com/v1`; the protocol adds its path. Credentials don't belong in it. */
  readonly baseUrl: string;
  /** Headers of every request, credentials included, with lowercase names. Credentials never appear in an error. */
  readonly headers: Readonly<Record<string, string>>;
  /** Adds to the headers of each request what can't be known beforehand. */
  readonly credentials?: CredentialProvider;
  readonly http: Http;
  /** Reads the provider's files, where it keeps any. */
  readonly files?: (wire: FilesWire) => ModelFiles;
  readonly contextWindow?: number;
  /** Tokens of a prompt at most, where that is less than the window. */
  readonly maxInput?: number;
  /** A prompt of more tokens than this costs more by the token. */
  readonly priceStep?: number;
  /** What the server is asked about the window where `contextWindow` isn't given, before the first request. */
  readonly windowQuestions?: readonly WindowQuestion[];
  /** Tokens of a reply at most. */
  readonly outputLimit?: number;
  /** US dollars for a usage, or null when that is unknown. */
  readonly cost?: (usage: Usage) => number | null;
  readonly clock?: Clock;
  /**
   * Whether events and comments that only keep the connection alive begin the idle timeout anew. Default false: an answer
   * that stands still is given up, however alive its connection is.
   */
  readonly pingsResetIdleTimeout?: boolean;
}

const withPath = (baseUrl: string, path: string): string => {
  const url = new URL(baseUrl);
  const [pathname = '', query = ''] = path.split('?');
  url.pathname = url.pathname.replace(/\/+$/, '') + pathname;
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
  return url.href;
};

/** Header names that carry credentials. */
const SECRET_HEADER = /auth|key|token|secret|cookie|password/i;

const secretsOf = (headers: Readonly<Record<string, string>>, baseUrl: string): string[] => {
  const values = Object.entries(headers)
    .filter(([name]) => SECRET_HEADER.test(name))
    // `Bearer …` with its scheme and without.
    .flatMap(([, value]) => [value, value.replace(/^\w+\s+/, '')]);
  const parameters = [...new URL(baseUrl).searchParams].filter(([name]) => name !== 'api-version');
  return [...values, ...parameters.map(([, value]) => value)];
};

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };

/** A server that takes longer to tell its window is asked for a reply without. */
const WINDOW_TIMEOUT_MS = 3000;

/** An address without the parts that may hold credentials. */
function publicPart(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/\/+$/, '');
}

/** Warnings that a model remembers having told. */
const MOST_TOLD = 10_000;

/**
 * A model that speaks a wire protocol over HTTP. One request per `stream`, sent when its first event is asked for;
 * whatever goes wrong is an `error` event. Retrying is the caller's.
 */
export function wireModel(options: WireModelOptions): Model {
  const { protocol, provider, modelId, credentials, clock = systemClock, contextWindow, outputLimit, cost } = options;
  const { maxInput, name, priceStep } = options;
  let window = contextWindow;
  const encode = protocol.createEncoder({
    provider,
    modelId,
    contextWindow: () => window,
    ...defined({ outputLimit }),
  });
  const secrets = secretsOf(options.headers, options.baseUrl);
  // Made when there is something to redact: a signature differs with every request.
  let redact: Redact | undefined;
  let received: Readonly<Record<string, string>> = {};
  const keepSecret = (headers: Readonly<Record<string, string>>): void => {
    received = headers;
    redact = undefined;
  };

  const told = new Set<string>();
  /** Whether this wasn't said before: each session is told once. */
  const news = (text: string): boolean => {
    if (told.has(text)) return false;
    if (told.size >= MOST_TOLD) told.clear();
    told.add(text);
    return true;
  };

  const { windowQuestions: questions = [], baseUrl } = options;
  let asking: Promise<void> | undefined;
  const ask = async (signal: AbortSignal): Promise<void> => {
    const late = new AbortController();
    const cancel = clock.after(WINDOW_TIMEOUT_MS, () => late.abort(), { background: true });
    const place = { http, baseUrl, headers: options.headers };
    window = await detectWindow(questions, modelId, place, AbortSignal.any([signal, late.signal]));
    cancel();
    if (window !== undefined) model.contextWindow = window;
    // Whoever comes next asks again.
    else if (signal.aborted) asking = undefined;
  };

  const http = credentials === undefined ? options.http : authorizedHttp(options.http, credentials, clock, keepSecret);
  const addressOf = createLatest((path) => withPath(options.baseUrl, path));
  const cache = new CacheWatch();
  const setup: StreamSetup = {
    finished: (request, body, usage) => cache.finished(request, body, usage),
    protocol,
    http,
    clock,
    recovers: encode.recovers,
    ready: (signal) => (window === undefined && questions.length > 0 ? (asking ??= ask(signal)) : undefined),
    pingsResetIdleTimeout: options.pingsResetIdleTimeout ?? false,
    redact(text) {
      redact ??= createRedact([...secrets, ...secretsOf(received, options.baseUrl)]);
      return redact(text);
    },
    prepare(request: ModelRequest) {
      const { path, headers, body, warnings = [] } = encode(request);
      return {
        url: addressOf(path),
        headers: { ...headers, ...options.headers },
        body,
        warnings: () => warnings.filter(({ message }) => news(`${request.sessionId ?? ''} ${message}`)),
      };
    },
  };
  const files = options.files?.({
    async get(filePath, headers, signal) {
      try {
        const fileUrl = withPath(options.baseUrl, filePath);
        return await http({ method: 'GET', url: fileUrl, headers: { ...headers, ...options.headers }, signal });
      } catch (error) {
        throw new Error(setup.redact(errorText(error)), { cause: error });
      }
    },
    redact: (text) => setup.redact(text),
  });
  const structuredOutput = protocol.structuredOutput?.(modelId);
  const deferredTools = protocol.deferredTools?.(modelId) === true ? true : undefined;
  const model: Draft<Model> = {
    provider,
    id: modelId,
    api: protocol.name,
    baseUrl: publicPart(options.baseUrl),
    ...defined({ name, structuredOutput, deferredTools, contextWindow, maxInput, priceStep, outputLimit, files, cost }),
    stream(request, signal) {
      const events = createModelStream(setup, request, signal);
      return { [Symbol.asyncIterator]: () => events };
    },
  };
  return model;
}
