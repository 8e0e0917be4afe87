import type { JsonObject, JsonValue, ToolResultContent, UserContent } from '@treadle/core';
import type { Plan, TodoItem } from '@treadle/core/projections';

import type { Piece } from '../markdown/stream.ts';

/** A call of a tool, from the reply that makes it to its end. */
export interface ToolCell {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  /** `asked`: a person is to allow it. */
  state: 'waiting' | 'asked' | 'running' | 'ended' | 'refused' | 'cut off';
  /** When it started, in milliseconds since 1970. */
  startedAt?: number;
  durationMs?: number;
  isError?: boolean;
  content: readonly ToolResultContent[];
  details?: JsonValue;
  /** What it shows while it runs: the newest replaces the one before. */
  output: string;
  /** What it is doing, in words. */
  progress?: string;
  /** Its place in the transcript: `/show 3` shows all of it. */
  readonly number: number;
  /** Who allowed or refused it, in words. */
  answer?: string;
  /** Why it was refused, where nobody was asked. */
  why?: string;
  /** It goes on in the background: its result only says so. */
  isTask?: boolean;
}

/** Something of the transcript that is finished. */
export type Block =
  | {
      readonly type: 'prompt';
      /** In short: files are named. */
      readonly text: string;
      readonly whole: string;
      /** Who said it, if it was somebody else. */ readonly by?: string;
    }
  /** A command that the user has run. */
  | { readonly type: 'shell'; readonly command: string; readonly output: string }
  | { readonly type: 'markdown'; readonly piece: Piece; readonly isFirst: boolean }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool'; readonly cell: ToolCell }
  | { readonly type: 'todo'; readonly items: readonly TodoItem[] }
  | { readonly type: 'plan'; readonly plan: Plan }
  | { readonly type: 'notice'; readonly text: string; readonly tone: 'dim' | 'warn' | 'bad' }
  /** Lines as they are, such as the answer to a slash command. */
  | { readonly type: 'rows'; readonly text: string }
  /** Names, and words beside them. */
  | { readonly type: 'list'; readonly items: readonly (readonly [name: string, about: string])[] };

/** A message of the user's that waits to be delivered. */
export interface Queued {
  readonly seq: number;
  readonly kind: 'steering' | 'follow_up';
  readonly text: string;
  readonly content: readonly UserContent[];
}

/** A prompt that is in the log, and that nobody answers yet. */
export interface SentPrompt {
  readonly at: number;
  readonly text: string;
  readonly content: readonly UserContent[];
}

/** A task in the background. */
export interface BackgroundTask {
  /** What it does, in words. */
  readonly name: string;
  /** What it has put out so far, where that is known here. */
  readonly output: string;
}
