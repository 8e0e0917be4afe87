import { jsonCheck } from '@treadle/core/tools';
import type { Http, JsonObject, JsonValue, Tool, ToolContext, ToolResult } from '@treadle/core';
import { HttpProblem } from '@treadle/http';

import type { Operation } from './operations.ts';
import { OpenApiProblem } from './problem.ts';
import { writeRequest } from './request.ts';
import { resultOf } from './response.ts';
import { proofOf, type Needed, type Proof } from './security.ts';

/** Headers for every call, or a function that brings them. */
export type OwnHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** What an operation is called with. */
export interface Calling {
  readonly http: Http;
  readonly server: URL;
  readonly needed: readonly Needed[];
  readonly headers: OwnHeaders | undefined;
  readonly maxResponseBytes: number;
}

/**
 * The tool of one operation. It is built directly: a document has thousands, whose schemas are known to be good and share
 * their parts, and a model calls few of them. So the check of a tool is compiled when it is first called.
 */
export function operationTool(name: string, operation: Operation, calling: Calling): Tool {
  const readOnly = operation.method === 'GET' || operation.method === 'HEAD';
  const host = calling.server.hostname.replace(/\.$/, '');
  return Object.freeze({
    name,
    label: operation.label,
    description: operation.description,
    inputSchema: operation.schema,
    runs: 'server',
    replay: readOnly ? 'safe' : 'never',
    readOnly,
    execution: 'parallel',
    endsRun: false,
    deferLoading: true,
    check: jsonCheck(operation.schema),
    access: () => ({ hosts: [host], readOnly }),
    // What the check returns is the arguments as they were.
    execute: (args, context) => call(operation, args as JsonObject, context, calling),
  } satisfies Tool);
}

async function call(
  operation: Operation,
  args: JsonObject,
  context: Pick<ToolContext, 'idempotencyKey' | 'signal'>,
  calling: Calling,
): Promise<ToolResult> {
  try {
    const proof = await proofOf(calling.needed);
    const headers = typeof calling.headers === 'function' ? await calling.headers() : (calling.headers ?? {});
    const { idempotencyKey, signal } = context;
    const { request, shownUrl } = writeRequest(operation, args, {
      server: calling.server,
      proof,
      headers,
      idempotencyKey,
      signal,
    });
    const response = await calling.http(request);
    return await resultOf(response, {
      method: operation.method,
      shownUrl,
      maxBytes: calling.maxResponseBytes,
      secrets: secretsOf(proof, headers),
    });
  } catch (error) {
    if (!(error instanceof HttpProblem) && !(error instanceof OpenApiProblem)) throw error;
    const details: JsonValue = { problem: error.code };
    return { content: error.message, isError: true, details };
  }
}

/** The application's own headers may hold keys too; a token is also one without its word before it. */
const secretsOf = (proof: Proof, headers: Readonly<Record<string, string>>): readonly string[] => [
  ...proof.secrets,
  ...Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]),
];
