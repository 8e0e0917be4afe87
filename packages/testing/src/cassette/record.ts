import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Clock, type Http, errorText, systemClock, TreadleError } from '@treadle/core';
import { type HttpBody, type HttpResponse, bytesOfBody } from '@treadle/core/ports';
import { lineOf, packBody, type RecordedExchange } from './format.ts';
import { createCleaner, type Redaction } from './secrets.ts';

/** Where a recording goes, and what must not be in it. */
export type RecordingOptions = {
  readonly redact?: Redaction;
  /** True takes down how long everything took. */
  readonly timings?: boolean;
  /** Default: the machine's. */
  readonly clock?: Clock;
} & (
  | {
      /** A file of JSON lines. One that is there is replaced when the first exchange is complete. */
      readonly path: string;
    }
  | {
      /** Gets each line, without its line break. */
      readonly sink: (line: string) => void;
    }
);

/** Something that records, and can say when it is done. */
export interface Recording {
  /** Resolves once every exchange that has begun is written. Rejects after ten seconds: a response was left unread. */
  settled(): Promise<void>;
}

/** The facts of a request. */
export interface RequestFacts {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
}

/** One exchange while it goes on. The first `end` or `failed` writes it; what comes after is ignored. */
export interface OpenExchange {
  responded(status: number, headers: Readonly<Record<string, string>>): void;
  chunk(bytes: Uint8Array): void;
  end(how: 'done' | 'left'): void;
  failed(error: unknown): void;
}

export interface Recorder extends Recording {
  begin(request: RequestFacts): OpenExchange;
}

const SETTLE_TIMEOUT_MS = 10_000;

const fileSink = (path: string): ((line: string) => void) => {
  let begun = false;
  return (line) => {
    if (begun) return appendFileSync(path, `${line}\n`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${line}\n`);
    begun = true;
  };
};

const errorFacts = (thrown: unknown, clean: (text: string) => string): NonNullable<RecordedExchange['error']> => {
  const code = thrown instanceof Error ? (thrown as { readonly code?: unknown }).code : undefined;
  return {
    message: clean(errorText(thrown)),
    ...(typeof code === 'string' ? { code } : {}),
    ...(thrown instanceof Error ? { name: thrown.name } : {}),
  };
};

/** Takes exchanges down and writes each, once it is over, as one line: whole, so that a secret cut in two is found. */
export function createRecorder(options: RecordingOptions): Recorder {
  const { clock = systemClock, timings = false } = options;
  const write = 'path' in options ? fileSink(options.path) : options.sink;
  const cleaner = createCleaner(options.redact);
  let count = 0;
  const open = new Set<string>();
  let waiting: (() => void)[] = [];

  return {
    begin(request) {
      const index = count++;
      let at = clock.now();
      const elapsed = (): number => {
        const before = at;
        at = clock.now();
        return at - before;
      };
      // Secrets are learned from the headers first: the URL and the body may repeat them.
      const headers = cleaner.headers(request.headers);
      const url = cleaner.url(request.url);
      const name = `${request.method} ${url}`;
      const key = `${name} (request ${index + 1})`;
      open.add(key);
      let response: { status: number; headers: Record<string, string> } | undefined;
      const chunks: Uint8Array[] = [];
      const delaysMs: number[] = [];

      const finish = (end: RecordedExchange['end'], thrown?: unknown): void => {
        if (!open.has(key)) return;
        const { method, body } = request;
        const sent = body === undefined ? undefined : bytesOfBody(body);
        const exchange: RecordedExchange = {
          request: { method, url, headers, ...(sent === undefined ? {} : { body: packBody(cleaner.bytes(sent)) }) },
          ...(response === undefined
            ? {}
            : {
                response: {
                  ...response,
                  body: packBody(cleaner.bytes(Buffer.concat(chunks))),
                  chunks: chunks.map((chunk) => chunk.length),
                  ...(timings ? { delaysMs } : {}),
                },
              }),
          end,
          ...(end === 'failed' ? { error: errorFacts(thrown, cleaner.text) } : {}),
        };
        try {
          write(lineOf(exchange, index));
        } finally {
          open.delete(key);
          if (open.size === 0) {
            for (const resolve of waiting) resolve();
            waiting = [];
          }
        }
      };

      return {
        responded(status, received) {
          response = { status, headers: cleaner.headers(received) };
          delaysMs.push(elapsed());
        },
        chunk(bytes) {
          if (bytes.length === 0) return;
          // A copy: a transport may use its buffer again.
          chunks.push(bytes.slice());
          delaysMs.push(elapsed());
        },
        end: (how) => finish(how),
        failed: (error) => finish('failed', error),
      };
    },
    settled: () =>
      new Promise((resolve, reject) => {
        if (open.size === 0) return resolve();
        const cancel = clock.after(SETTLE_TIMEOUT_MS, () => {
          const names = [...open].join(', ');
          reject(
            new TreadleError('invalid_definition', `Not recorded yet, because nobody read it to its end: ${names}.`),
          );
        });
        waiting.push(() => {
          cancel();
          resolve();
        });
      }),
  };
}

/** A body whose reading is taken down. */
export function recordedBody(body: AsyncIterable<Uint8Array>, exchange: OpenExchange): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const source = body[Symbol.asyncIterator]();
      return {
        async next() {
          let result: IteratorResult<Uint8Array>;
          try {
            result = await source.next();
          } catch (error) {
            exchange.failed(error);
            throw error;
          }
          if (result.done === true) exchange.end('done');
          else exchange.chunk(result.value);
          return result;
        },
        async return() {
          exchange.end('left');
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/**
 * An `Http` that does what `http` does and writes down each exchange: the request without its secrets, and the response with
 * the bytes of its body as they were cut.
 *
 * What is secret: the values of `authorization`, of headers for keys, tokens, signatures and cookies, of such parameters in
 * the URL, of fields such as `access_token` in bodies, and what `redact` names. Each is taken out wherever it turns up.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { openai, fetchHttp } from '@treadle/models';
 * import { fakeProvider, recordingHttp } from '@treadle/testing';
 *
 * const provider = await fakeProvider(['Hello!']);
 * const lines: string[] = [];
 * const http = recordingHttp(fetchHttp(fetch), { sink: (line) => lines.push(line) });
 * const model = openai('gpt-6.1-sol', { apiKey: 'a-secret-key', baseUrl: provider.openaiBaseUrl, http });
 *
 * const session = await createSession(defineAgent({ model }));
 * await session.prompt('Hi').result;
 * await http.settled();
 * console.log(lines.length, lines[0]?.includes('a-secret-key')); // 1 false
 * await provider.close();
 * ```
 */
export function recordingHttp(http: Http, options: RecordingOptions): Http & Recording {
  const recorder = createRecorder(options);
  const recording: Http = async (request): Promise<HttpResponse> => {
    const exchange = recorder.begin(request);
    let response: HttpResponse;
    try {
      response = await http(request);
    } catch (error) {
      exchange.failed(error);
      throw error;
    }
    exchange.responded(response.status, response.headers);
    return { ...response, body: recordedBody(response.body, exchange) };
  };
  return Object.assign(recording, { settled: recorder.settled });
}
