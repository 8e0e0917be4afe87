import type { JsonObject } from '@treadle/core';
import type { ModelEvent, ModelToolCall } from '@treadle/core/model';
import { type ScriptedBlock, type ScriptedError, type Turn, blocksOf, playTurn, stopReasonOf } from '../turns.ts';

/** What an encoder knows of the reply it writes. */
export interface ReplyContext {
  /** The script's turn, counted from 1. */
  readonly number: number;
  readonly model: string;
  readonly turn: Turn;
  /** Seconds since 1970-01-01 UTC. */
  readonly created: number;
  /** The client asked for a usage chunk (Chat Completions only). */
  readonly includeUsage: boolean;
}

/** One of the protocols the fake provider speaks. */
export interface Wire {
  readonly name:
    'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'bedrock-converse' | 'gemini' | 'ollama-chat';
  readonly path: string;
  /** Further paths where it is spoken. */
  readonly otherPaths?: RegExp;
  /** Of a streamed reply. Default: server-sent events. */
  readonly contentType?: string;
  /** The model a request is for. Default: the body's `model`. */
  modelOf?(path: string, body: JsonObject): string;
  /** Whether a request wants its reply streamed. Default: the body's `stream` is true. */
  asksForStream?(path: string, body: JsonObject): boolean;
  /** The header in which this service gives its id of a request. */
  readonly requestIdHeader: string;
  /** What is wrong with a request's headers. Default: nothing. */
  checkHeaders?(headers: Readonly<Record<string, string>>, path: string): string[];
  checkBody(body: unknown): string[];
  /** The key a client sent, or undefined. Default: {@link bearerOf}. */
  apiKey?(headers: Readonly<Record<string, string>>): string | undefined;
  /** Why a turn can't be spoken on this wire, or undefined. Default: every turn can. */
  unspeakable?(turn: Turn): string | undefined;
  /** What is sent for model events: for each event its bytes, or its text, often none. */
  encoder(context: ReplyContext): (event: ModelEvent) => string | Uint8Array;
  /** The whole reply as one JSON body, for a request that doesn't stream. */
  whole(context: ReplyContext): object;
  /** The body of an HTTP error response. */
  errorBody(status: number, message: string, code: string | undefined, requestId: string): object;
  /** What the service says when a prompt doesn't fit. */
  readonly overflow: { readonly message: string; readonly code?: string };
}

/** The key behind `authorization: Bearer`. */
export const bearerOf = (headers: Readonly<Record<string, string>>): string | undefined =>
  headers['authorization']?.replace(/^Bearer /i, '');

/** The provider's word for why each turn stops. */
export type StopWords = Readonly<Record<ReturnType<typeof stopReasonOf>, string>>;

export const stopWord = (turn: Turn, words: StopWords): string => turn.rawStopReason ?? words[stopReasonOf(turn)];

/** All events of a reply, with each block in one delta. */
export const eventsOf = ({ turn, number }: ReplyContext): ModelEvent[] =>
  [...playTurn(turn, number, Number.POSITIVE_INFINITY)].filter((step) => step.type !== 'pause');

/** The arguments of a call as a value. */
export const inputOf = ({ argumentsText }: ModelToolCall): JsonObject =>
  argumentsText === '' ? {} : (JSON.parse(argumentsText) as JsonObject);

/** `unspeakable` of a wire that has only blocks of these types. */
export const only =
  (...types: readonly ScriptedBlock['type'][]) =>
  (turn: Turn): string | undefined => {
    const odd = blocksOf(turn).find((block) => !types.includes(block.type));
    return odd && `This wire has no ${odd.type} blocks.`;
  };

/** The status of an error response that a turn's failure asks for; undefined where the connection just breaks. */
export function statusOfError(error: ScriptedError): number | undefined {
  if (error.status !== undefined) return error.status;
  switch (error.kind) {
    case 'network':
    case 'cancelled':
      return undefined;
    case 'rate_limited':
      return 429;
    case 'auth':
      return 401;
    case 'context_overflow':
      return 400;
    default:
      return 500;
  }
}
