import { errorText, type JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { randomUUID } from 'node:crypto';

/** A request that the client can't be given what it wants for. */
export class Refused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Refused';
  }
}

/** What the client's answers, or their absence, come to. */
class NoAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NoAnswer';
  }
}

/** The requests and answers of both sides, on one stream of lines. */
export interface Channel {
  /**
   * Asks the client. When `signal` is aborted first, the request is cancelled there.
   *
   * @throws NoAnswer when it answers with an error, or can't any more.
   */
  request(request: JsonObject, signal?: AbortSignal): Promise<JsonObject>;
  /** Takes a line if it belongs to the control protocol. */
  take(line: JsonObject): boolean;
  /** The client can't say anything any more: what it was asked is not answered. */
  close(): void;
  /** Resolves when every request of the client has its answer. */
  settled(): Promise<void>;
}

/** What a request of the client is answered with. */
export interface Answer {
  readonly response: JsonObject;
  /** Fields beside `response`. */
  readonly beside?: JsonObject;
}

/** Answers a request of the client, or rejects with what is wrong. */
export type Answering = (request: JsonObject) => Promise<Answer>;

interface Asked {
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

const CLOSED = 'The client has closed its end, so nobody can be asked.';

export function createChannel(
  write: (message: JsonObject) => void,
  answer: Answering,
  newId: () => string = randomUUID,
): Channel {
  const asked = new Map<string, Asked>();
  const answering = new Map<string, Promise<void>>();
  let isClosed = false;

  /** The same request again, while it is answered, is the same request. */
  function takeRequest(id: string, request: JsonObject): void {
    if (answering.has(id)) return;
    const respond = (response: JsonObject): void =>
      write({ type: 'control_response', response: { ...response, request_id: id } });
    const done = answer(request)
      .then(
        ({ response, beside }) => respond({ subtype: 'success', response, ...beside }),
        (error: unknown) => respond({ subtype: 'error', error: errorText(error) }),
      )
      .finally(() => answering.delete(id));
    answering.set(id, done);
  }

  function takeResponse(response: JsonObject): void {
    const { request_id: id, subtype, error } = response;
    const one = typeof id === 'string' ? asked.get(id) : undefined;
    // An answer to what was cancelled, or to nothing.
    if (typeof id !== 'string' || !one) return;
    asked.delete(id);
    if (subtype === 'success') one.resolve(isJsonObject(response['response']) ? response['response'] : {});
    else one.reject(new NoAnswer(typeof error === 'string' ? error : 'The client answered with an error.'));
  }

  return {
    request(request, signal) {
      if (isClosed) return Promise.reject(new NoAnswer(CLOSED));
      if (signal?.aborted === true) return Promise.reject(new NoAnswer('It was cancelled.'));
      const id = newId();
      return new Promise<JsonObject>((resolve, reject) => {
        const cancel = (): void => {
          if (!asked.delete(id)) return;
          write({ type: 'control_cancel_request', request_id: id });
          reject(new NoAnswer('It was cancelled.'));
        };
        const over = (): void => signal?.removeEventListener('abort', cancel);
        asked.set(id, {
          resolve(response) {
            over();
            resolve(response);
          },
          reject(error) {
            over();
            reject(error);
          },
        });
        signal?.addEventListener('abort', cancel, { once: true });
        write({ type: 'control_request', request_id: id, request });
      });
    },
    take(line) {
      const { type, request_id: id, request, response } = line;
      if (type === 'control_response') {
        if (isJsonObject(response)) takeResponse(response);
        return true;
      }
      if (type === 'control_request') {
        if (typeof id === 'string' && isJsonObject(request)) takeRequest(id, request);
        else throw new Refused('A control_request needs a request_id and a request.');
        return true;
      }
      // What was asked here is quick, or of no use to anybody once it has begun.
      return type === 'control_cancel_request' || type === 'keep_alive';
    },
    close() {
      isClosed = true;
      for (const { reject } of asked.values()) reject(new NoAnswer(CLOSED));
      asked.clear();
    },
    async settled() {
      while (answering.size > 0) await Promise.all(answering.values());
    },
  };
}
