import type { JsonObject, Model, ModelError, Usage } from '@treadle/core';
import type { ModelEvent, ModelRequest, ModelWarning } from '@treadle/core/model';
import type { HttpBody } from '@treadle/core/ports';

/** Whose model a request is for. `provider` decides which opaque blocks may return. */
export interface WireTarget {
  readonly provider: string;
  readonly modelId: string;
  /** Tokens of a reply at most, when known. */
  readonly outputLimit?: number;
  /** Tokens the model can take in all, as far as is known by now. */
  readonly contextWindow?: () => number | undefined;
}

/** A request as this wire writes it, without the deployment's base URL and credentials. */
export interface WireRequest {
  /** Path below the base URL, with a leading slash and, where the wire has one, a query. */
  readonly path: string;
  /** Headers of the wire itself; the deployment adds its credentials. Names are lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /** What the request lost on its way, because its model doesn't take it. */
  readonly warnings?: readonly ModelWarning[];
}

/** Writes requests. It keeps what it wrote, so a growing conversation costs what is new in it. */
export interface Encoder {
  (request: ModelRequest): WireRequest;
  /**
   * Asked when the provider refused a request with an error that isn't worth trying again: whether it is after all, because
   * from now on the conversation is written in another way. Must say so only once for the same cause.
   */
  readonly recovers?: (request: ModelRequest, error: ModelError) => boolean;
}

/** What an error says on this wire, before it is classified. Nothing in it is redacted yet. */
export interface WireError {
  readonly message: string;
  /** The provider's own code or type. */
  readonly code?: string;
  /** The HTTP status this error would have had, when it came inside a stream that began with 200. */
  readonly status?: number;
  /** It is a rate limit, although its words are also those of a prompt that is too long. */
  readonly throttled?: true;
  /** Milliseconds to wait before trying again, where the wire says so in the error itself. */
  readonly retryAfterMs?: number;
}

/** Where a decoder puts what it read. */
export interface DecoderSink {
  event(event: Exclude<ModelEvent, { readonly type: 'error' }>): void;
  /** An error inside the stream. Nothing follows it. */
  error(error: WireError): void;
  /** The bytes are not this wire. Nothing follows it. */
  malformed(message: string): void;
  /**
   * Something of a type that the decoder doesn't know, whether it passed it over or kept it as it is: it is counted.
   * A `ping` or `keepalive` counts as a sign of life and as nothing else.
   */
  unknown(type: string): void;
}

/**
 * Reads the frames of one response. What can't be read goes to the sink; one that throws all the same ends the stream with
 * an error that isn't worth trying again.
 */
export interface Decoder {
  /** One frame: its name (`''` when it has none) and its text. `whole` is false for a frame the end of the body cut. */
  frame(name: string, data: string, whole: boolean): void;
  /** The body ended. Emits the finish if the wire was only waiting for that; otherwise does nothing. */
  end(): void;
  /** A response that was not streamed, as one JSON object. False when it isn't one of this wire. */
  whole(body: JsonObject): boolean;
  /** What the response has reported of its use so far: it is billed even where the response breaks off. */
  usage?(): Usage | undefined;
}

/** Called with each frame a body holds. */
export type FrameHandler = (name: string, data: string, whole: boolean) => void;

/** Cuts a body into frames. */
export interface FrameScanner {
  /**
   * The next bytes of the body, which are good only during the call: others take their place. What is kept for later has to
   * be copied, with `new Uint8Array(chunk)` or with `chunk.slice()` where it is a plain `Uint8Array`: what a `Buffer` slices
   * off shares its memory, and `subarray` always does.
   */
  push(chunk: Uint8Array): void;
  /** The body ended: delivers what was still open. */
  end(): void;
}

/** How a wire's body is cut into frames. `onProblem` is called at most once; nothing is delivered after it. */
export type Framing = (onFrame: FrameHandler, onProblem: (message: string) => void) => FrameScanner;

/**
 * A wire protocol: how a request is written and a response is read. It knows no host, no key and no provider's name;
 * what differs between deployments of one wire is in the quirks it was made with.
 */
export interface Protocol {
  readonly name: string;
  /** Whether this wire itself keeps a schema, for a model: `Model.structuredOutput`. */
  readonly structuredOutput?: (modelId: string) => Model['structuredOutput'];
  /** Whether this wire adds definitions of tools in place, for a model: `Model.deferredTools`. */
  readonly deferredTools?: (modelId: string) => boolean;
  readonly framing: Framing;
  /** The content type of a streamed response. */
  readonly contentType: string;
  /**
   * Whether a body of another content type is a stream all the same, by its first bytes, which may be a single one.
   * Default: whether they are server-sent events. The bytes are good only during the call; see {@link FrameScanner}.
   */
  readonly startsStream?: (first: Uint8Array) => boolean;
  createEncoder(target: WireTarget): Encoder;
  /** `request` is the one being answered: some wires can be read only with what was asked in mind. */
  createDecoder(sink: DecoderSink, request: ModelRequest): Decoder;
  /** The error in a response body of this wire, if there is one. */
  readError(body: JsonObject): WireError | undefined;
}
