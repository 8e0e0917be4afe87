import type { Cassette } from './format.ts';
import { createRecorder, recordedBody, type Recording, type RecordingOptions, type RequestFacts } from './record.ts';
import { createPlayer, type ReplayOptions } from './replay.ts';

/** The platform's `fetch`. */
export type Fetch = typeof globalThis.fetch;

const recordOf = (headers: Headers): Record<string, string> => {
  const record: Record<string, string> = {};
  // Several cookies come one by one.
  headers.forEach((value, name) => (record[name] = name in record ? `${record[name]}, ${value}` : value));
  return record;
};

/** A request's facts, and the request itself, unread. */
async function readRequest(...[input, init]: Parameters<Fetch>): Promise<{ request: Request; facts: RequestFacts }> {
  const request = new Request(input, init);
  const copy = request.body === null ? undefined : request.clone();
  const body = copy === undefined ? undefined : new Uint8Array(await copy.arrayBuffer());
  const facts = { method: request.method, url: request.url, headers: recordOf(request.headers) };
  return { request, facts: body === undefined ? facts : { ...facts, body } };
}

/** Statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

function responseOf(
  status: number,
  headers: ConstructorParameters<typeof Headers>[0],
  body: AsyncIterable<Uint8Array>,
  url: string,
): Response {
  // It reads nothing ahead: chunks stay as they are, and a reader that leaves has read no more than it took.
  const stream = ReadableStream.from(body);
  const response = new Response(WITHOUT_BODY.has(status) ? null : stream, { status, headers: headers ?? {} });
  Object.defineProperty(response, 'url', { value: url });
  return response;
}

/**
 * Any `fetch`, taken down like {@link recordingHttp} does it, for code that takes a `fetch` of yours.
 *
 * @param fetch The one to use: the platform's, or any other.
 */
export function recordingFetch(fetch: Fetch, options: RecordingOptions): Fetch & Recording {
  const recorder = createRecorder(options);
  const recording: Fetch = async (input, init) => {
    const { request, facts } = await readRequest(input, init);
    const exchange = recorder.begin(facts);
    let response: Response;
    try {
      response = await fetch(request);
    } catch (error) {
      exchange.failed(error);
      throw error;
    }
    exchange.responded(response.status, recordOf(response.headers));
    if (response.body === null) {
      exchange.end('done');
      return response;
    }
    return responseOf(response.status, response.headers, recordedBody(response.body, exchange), response.url);
  };
  return Object.assign(recording, { settled: recorder.settled });
}

/** A `fetch` that answers out of a recording, like {@link replayingHttp}. */
export function replayingFetch(cassette: string | Cassette, options: ReplayOptions = {}): Fetch {
  const play = createPlayer(cassette, options);
  return async (input, init) => {
    const { request, facts } = await readRequest(input, init);
    const response = await play(facts, request.signal);
    return responseOf(response.status, response.headers, response.body, request.url);
  };
}
