import { errorText, type ModelError } from '@treadle/core';
import { connectionError, reportedError } from '../errors/classify.ts';
import { createRedact } from '../errors/redact.ts';

const redact = createRedact([]);

const field = (error: unknown, name: string): unknown =>
  typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>)[name] : undefined;

const asRecord = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );

/** Parts of a stream may have any value as their error. */
const wordsOf = (error: unknown): string => {
  const message = field(error, 'message');
  return typeof message === 'string' ? message : errorText(error);
};

const codeOf = (error: unknown): { readonly code?: string } => {
  const code = field(error, 'code') ?? field(error, 'type');
  return typeof code === 'string' ? { code } : {};
};

/** A failure of a language model as data: its `APICallError`, or whatever else was thrown. */
export function sdkError(error: unknown, now: number): ModelError {
  const status = field(error, 'statusCode');
  const body = field(error, 'responseBody');
  const headers = asRecord(field(error, 'responseHeaders'));
  if (typeof status !== 'number') {
    if (field(error, 'isRetryable') !== undefined || !(error instanceof Error))
      return reportedError({ message: wordsOf(error), ...codeOf(error) }, undefined, { redact, now });
    return connectionError(error, redact);
  }
  const facts = { redact, headers, now, ...(typeof body === 'string' && { body }) };
  return reportedError({ message: wordsOf(error) }, status, facts);
}
