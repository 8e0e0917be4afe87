import type { Clock, JsonObject, JsonValue } from '@treadle/core';
import type { Turn } from '../turns.ts';
import type { Chunking } from './sink.ts';
import type { Wire } from './wire.ts';

/** What the network, or a broken server, does to a reply. */
export interface WireFaults {
  /** An HTTP response of this status, with `body`, instead of the turn. */
  readonly status?: number;
  /** Headers on top of the usual ones, or in their place. */
  readonly headers?: Readonly<Record<string, string>>;
  /** These bytes, or this JSON value, instead of the turn's. Status 200 unless `status` says otherwise. */
  readonly body?: string | Uint8Array | JsonObject;
  /** Breaks the connection after so many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Breaks the connection after so many of the reply's writes of events; 0 right after the headers. */
  readonly cutAfterEvents?: number;
  /** How the connection breaks: ended in the middle of the body (`close`, the default), or by a TCP reset. */
  readonly cutBy?: 'close' | 'reset';
  /** How the bytes are cut into writes. Default `events`. */
  readonly chunking?: Chunking;
}

/** A turn of the fake provider: a turn, and what happens to it on the way. */
export interface ProviderTurn extends Turn {
  readonly faults?: WireFaults;
}

/** A request as it came in. */
export interface ProviderRequest {
  /** Undefined for an unknown path. */
  readonly wire: Wire['name'] | undefined;
  readonly method: string;
  readonly path: string;
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly rawBody: string;
  /** Undefined when it isn't JSON. */
  readonly body: JsonValue | undefined;
  /** Why it was refused; empty for a valid one. */
  readonly problems: readonly string[];
  /** `open` while it is answered; `done` after a complete answer; `cut` by a fault; `left` by the client. */
  readonly outcome: 'open' | 'done' | 'cut' | 'left';
}

/** The same while it is being answered. */
export type Logged = { -readonly [Key in keyof ProviderRequest]: ProviderRequest[Key] };

/** Options of `fakeProvider`. */
export interface FakeProviderOptions {
  /** UTF-16 code units per delta. Default 16. */
  readonly chunkSize?: number;
  /** How bytes are cut into writes, unless a turn says otherwise. Default `events`. */
  readonly chunking?: Chunking;
  /** The clock of the turns' delays. Default: the machine's. */
  readonly clock?: Clock;
  /** Requests with another key get a 401. Default: any key, or none, will do. */
  readonly apiKey?: string;
  /**
   * The window that the server tells of its models, where it is asked: by Ollama's `/api/show`, a list of models, or
   * llama.cpp's `/props`. Default: it doesn't know the question. Such requests are not logged.
   */
  readonly contextWindow?: number;
  /** The model in the list of models. Default `model-1`. */
  readonly listedModel?: string;
  /** False answers requests that the real service would refuse. Default true. */
  readonly validate?: boolean;
}
