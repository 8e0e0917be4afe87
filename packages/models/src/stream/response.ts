import { TreadleError, type JsonObject, type ModelError } from '@treadle/core';
import type { HttpResponse } from '@treadle/core/ports';
import { excerptOf, reportedError, type FailureFacts } from '../errors/classify.ts';
import { parseFrame, parseObject } from '../protocols/shared/json-text.ts';
import type { Protocol } from '../protocols/shared/protocol.ts';

/** A response without its body. */
export type ResponseFacts = Omit<HttpResponse, 'body'>;

const noResponse = (problem: string): TreadleError =>
  new TreadleError('invalid_definition', `What \`http\` resolved with is no HttpResponse: ${problem}.`);

/** An answer without a body, such as a 204, has none in `fetch`. */
const NO_BODY: AsyncIterator<Uint8Array> = { next: () => Promise.resolve({ done: true, value: undefined }) };

/**
 * The chunks of a response of somebody's own `http`, which may be anything.
 *
 * @throws TreadleError `invalid_definition` when it is no response.
 */
export function chunksOf(response: Partial<HttpResponse> | undefined | null): AsyncIterator<Uint8Array> {
  const body: Partial<HttpResponse['body']> | undefined | null = response?.body;
  if (body === null) return NO_BODY;
  const iterate = body?.[Symbol.asyncIterator];
  if (iterate === undefined) throw noResponse('its `body` must be an AsyncIterable of Uint8Array');
  return iterate.call(body);
}

/** @throws TreadleError `invalid_definition` for headers that can't be read. */
export function checkHeaders({ headers }: { readonly headers?: Readonly<Record<string, unknown>> | null }): void {
  if (typeof headers !== 'object' || headers === null) throw noResponse('its `headers` must be an object');
  const type = headers['content-type'];
  if (type !== undefined && typeof type !== 'string')
    throw noResponse('`content-type` in its `headers` must be a string');
}

/** Bytes of a body that is not a stream. More is cut off: it is an error page, or no answer anybody wants. */
const BODY_LIMIT = 16 * 1024 * 1024;

/** Characters of a page that an error shows. */
const PAGE_EXCERPT_LENGTH = 200;

/** What a body without a helpful content type looks like, by its first bytes. */
export function sniff(chunk: Uint8Array): 'stream' | 'other' {
  const text = new TextDecoder().decode(chunk.subarray(0, 64)).trimStart();
  return /^(?::|(?:data|event|id|retry)\b)/.test(text) ? 'stream' : 'other';
}

export function createWholeBody() {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  return {
    /** False when that was too much: the rest isn't wanted. */
    push(chunk: Uint8Array): boolean {
      text += decoder.decode(chunk, { stream: true });
      bytes += chunk.length;
      return bytes <= BODY_LIMIT;
    },
    /** What has come of it, as text. */
    text: () => text + decoder.decode(),
  };
}

const redirected = (response: ResponseFacts): ModelError => {
  const location = response.headers['location'];
  const host = URL.parse(location ?? '')?.host ?? 'another path of the same host';
  const where = location === undefined ? 'an address it does not name' : host;
  return {
    kind: 'other',
    message: `The server redirects to ${where}. Redirects are not followed, so that credentials stay with the host they are for; set the base URL to the right address.`,
    retryable: false,
    status: response.status,
  };
};

/** A list of responses, as some services answer whatever they were asked for, as one object with `responses`. */
const parseList = (text: string): { readonly responses: readonly unknown[] } | undefined => {
  const value = parseFrame(text);
  return Array.isArray(value) && value.length > 0 ? { responses: value } : undefined;
};

/** What a response that isn't a stream means: an error, or a body to be read as a whole. */
export function responseProblem(
  response: ResponseFacts,
  text: string,
  protocol: Protocol,
  facts: FailureFacts,
): { readonly error: ModelError } | { readonly body: JsonObject } {
  const { status } = response;
  if (status >= 300 && status < 400) return { error: redirected(response) };
  const body = (parseObject(text) ?? parseList(text)) as JsonObject | undefined;
  const wireError = body === undefined ? undefined : protocol.readError(body);
  if (status < 200 || status >= 300) {
    const plain = text.trim();
    const shown = excerptOf(plain, facts.redact, PAGE_EXCERPT_LENGTH);
    const said = shown === '' ? `HTTP ${status}` : `HTTP ${status}: ${shown}`;
    const message =
      status === 404 ? `${said.replace(/[.…]*$/, '.')} Check the base URL and the name of the model.` : said;
    return { error: reportedError(wireError ?? { message }, status, { ...facts, body: plain }) };
  }
  if (wireError !== undefined) return { error: reportedError(wireError, wireError.status, { ...facts, body: text }) };
  if (body !== undefined) return { body };
  const type = response.headers['content-type'] ?? 'no content type';
  return {
    error: {
      kind: 'other',
      message:
        `The server answered with ${text === '' ? 'an empty body' : type} instead of ${protocol.contentType}. Check the base ` +
        `URL, and whether a proxy or a login page answers in its place.`,
      retryable: false,
      status,
      ...(text === '' ? {} : { excerpt: excerptOf(text, facts.redact, PAGE_EXCERPT_LENGTH) }),
    },
  };
}

/** A body that is read as a whole. */
export type WholeBody = ReturnType<typeof createWholeBody>;
