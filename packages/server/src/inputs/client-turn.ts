import {
  TreadleError,
  type ClientToolResult,
  type JsonObject,
  type OfferedTool,
  type UserContent,
} from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

/** What a request of a chat protocol asks of a session, whichever protocol it is. */
export interface ClientTurn {
  /** The client's name of the conversation: a session's id. */
  readonly threadId: string;
  /** What the user says now. Empty when the request only answers what the session waits for. */
  readonly prompt: readonly UserContent[];
  /** Results of tools that the client has run. Only those that the session waits for mean anything. */
  readonly results: readonly ClientToolResult[];
  /** Answers of a person to approvals. Only those that the session waits for mean anything. */
  readonly answers: readonly ApprovalDecision[];
  /** The conversation before that, in the shape of `session.importMessages`: for a session that is new here. */
  readonly history: readonly object[];
  /** True asks for another reply: `prompt` was answered before, and what came of it is to be forgotten. */
  readonly regenerate: boolean;
  /** Tools that the client offers to run. */
  readonly tools: readonly OfferedTool[];
}

/** A person's answer to an approval. */
export interface ApprovalDecision {
  readonly approvalId: string;
  readonly decision: 'approve' | 'reject';
  readonly message?: string;
}

/** An error that names the place in the request. */
export const invalid = (path: string, what: string): TreadleError =>
  new TreadleError('invalid_messages', `${path} ${what}.`, { details: { path } });

export function objectAt(value: unknown, path: string): JsonObject {
  if (!isJsonObject(value)) throw invalid(path, 'must be an object');
  return value;
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(path, 'must be an array');
  return value;
}

export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw invalid(path, 'must be a text that is not empty');
  return value;
}

/** A `data:` URL as the media type and base64 that it is; null for any other address. */
function dataUrl(url: string): { readonly mediaType: string; readonly data: string } | null {
  const match = /^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/.exec(url);
  return match ? { mediaType: match[1] ?? '', data: match[2] ?? '' } : null;
}

/** A file of a request as a block: an image where its type says so. */
export function fileBlock(mediaType: string, url: string, name?: string): UserContent {
  const source = dataUrl(url);
  const place = source ? { mediaType, data: source.data } : { mediaType, url };
  if (mediaType.startsWith('image/')) return { type: 'image', ...place };
  return { type: 'file', ...place, ...(name === undefined ? {} : { name }) };
}
