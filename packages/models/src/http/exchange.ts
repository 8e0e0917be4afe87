import { TreadleError } from '@treadle/core';
import type { Http, HttpRequest, HttpResponse } from '@treadle/core';

/** A response without its body. */
export type ResponseFacts = Omit<HttpResponse, 'body'>;

/** Who is told of a response as it comes. After `onEnd`, `onFailure` or a cancellation nothing more is told. */
export interface Receiver {
  /** Once, before any of the body. */
  onResponse(response: ResponseFacts): void;
  /** The next bytes of the body, which are good only during the call. */
  onChunk(bytes: Uint8Array): void;
  onEnd(): void;
  onFailure(error: Error): void;
}

/** A request under way, and then its response. All of this may be said at any time, also when it is over. */
export interface Call {
  /**
   * Somebody waits for the response and then for the next chunk of its body. The idle timeout counts from now on, and a
   * body that comes only when it is asked for is asked.
   */
  wait(): void;
  /** Holds the server back, and lets it go on. A few chunks may come all the same. */
  pause(): void;
  resume(): void;
  /** Nobody wants the rest. */
  cancel(reason?: unknown): void;
}

/**
 * Sends a request. The signal in it isn't looked at: a call is cancelled.
 *
 * @throws What can't be sent. Other failures are told to the receiver.
 */
export type Exchange = (request: HttpRequest, receiver: Receiver) => Call;

/**
 * How transports send that tell of a response as it comes, without a promise, a signal and an iterator for each. By the
 * transport itself: what somebody has put around one, with all that it has, is asked as it wants to be.
 */
const direct = new WeakMap<Http, Exchange>();

/** Makes it known that a transport may be asked directly. */
export function sendsDirectly(http: Http, exchange: Exchange): Http {
  direct.set(http, exchange);
  return http;
}

/** The cheapest way to send requests by a transport. */
export function exchangeOf(http: Http): Exchange {
  const known = direct.get(http);
  if (known !== undefined) return known;
  return (request, receiver) => {
    const call = new PromisedCall(receiver);
    call.start(http, request);
    return call;
  };
}

/** An answer without a body, such as a 204, has none in `fetch`. */
const NO_BODY: AsyncIterator<Uint8Array> = { next: () => Promise.resolve({ done: true, value: undefined }) };

const noResponse = (problem: string): TreadleError =>
  new TreadleError('invalid_definition', `What \`http\` resolved with is no HttpResponse: ${problem}.`);

const bodyOf = (response: Partial<HttpResponse> | undefined | null): AsyncIterator<Uint8Array> => {
  const body: Partial<HttpResponse['body']> | undefined | null = response?.body;
  if (body === null) return NO_BODY;
  const iterate = body?.[Symbol.asyncIterator];
  if (iterate === undefined) throw noResponse('its `body` must be an AsyncIterable of Uint8Array');
  return iterate.call(body);
};

const checkHeaders = ({ headers }: { readonly headers?: Readonly<Record<string, unknown>> | null }): void => {
  if (typeof headers !== 'object' || headers === null) throw noResponse('its `headers` must be an object');
  const type = headers['content-type'];
  if (type !== undefined && typeof type !== 'string')
    throw noResponse('`content-type` in its `headers` must be a string');
};

/** A call by way of a promise and an iterator. The body is read only while somebody waits for it. */
class PromisedCall implements Call {
  readonly #receiver: Receiver;
  readonly #control = new AbortController();
  #body: AsyncIterator<Uint8Array> | undefined;
  #isOver = false;
  #isWaitedFor = false;
  #isReading = false;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  start(http: Http, request: HttpRequest): void {
    http({ ...request, signal: this.#control.signal }).then(
      (response) => this.#opened(response),
      (error: unknown) => this.#failed(error),
    );
  }

  /** What others give as a response may be anything. */
  #opened(response: HttpResponse): void {
    try {
      this.#body = bodyOf(response);
      // Left while the headers came.
      if (this.#isOver) return this.#leaveBody();
      checkHeaders(response);
      this.#receiver.onResponse(response);
    } catch (error) {
      return this.#giveUp(error);
    }
    this.#read();
  }

  #read(): void {
    if (this.#body === undefined || this.#isOver || this.#isReading || !this.#isWaitedFor) return;
    this.#isReading = true;
    try {
      this.#body.next().then(
        (result) => this.#received(result),
        (error: unknown) => this.#failed(error),
      );
    } catch (error) {
      this.#giveUp(error);
    }
  }

  #received(result: IteratorResult<Uint8Array>): void {
    if (this.#isOver) return;
    this.#isReading = false;
    this.#isWaitedFor = false;
    try {
      if (result.done !== true) return this.#receiver.onChunk(result.value);
    } catch (error) {
      return this.#giveUp(error);
    }
    this.#isOver = true;
    this.#receiver.onEnd();
  }

  /** The other side doesn't keep to what was agreed, and doesn't know. */
  #giveUp(error: unknown): void {
    if (this.#isOver) return;
    this.cancel(error);
    this.#receiver.onFailure(error as Error);
  }

  #failed(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.onFailure(error as Error);
  }

  #leaveBody(): void {
    // Ending the iteration closes the connection; whether that worked can't matter to anybody any more.
    try {
      this.#body?.return?.().catch(() => undefined);
    } catch {
      // The same at once.
    }
  }

  wait(): void {
    this.#isWaitedFor = true;
    this.#read();
  }

  // Nothing comes that wasn't asked for.
  pause(): void {}
  resume(): void {}

  cancel(reason?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaveBody();
    this.#control.abort(reason);
  }
}
