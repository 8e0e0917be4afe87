import { TreadleError, type Http, type JsonObject, type Tool } from '@treadle/core';
import { guardedHttp } from '@treadle/http';

import { readDocument } from './document/document.ts';
import { operationTool, type OwnHeaders } from './operation-tool.ts';
import {
  findOperations,
  readOperation,
  toolName,
  type FoundOperation,
  type OperationPlace,
  type SkippedOperation,
} from './operations.ts';
import { OpenApiProblem } from './problem.ts';
import { followIn, type Follow } from './document/references.ts';
import { argumentSchemas } from './document/schema.ts';
import { hiddenNames, neededFor, type OpenApiCredential } from './security.ts';
import { select, type OperationFilter } from './document/selection.ts';
import { serverOf, type ServerOptions } from './servers.ts';

/** Settings of {@link openApiTools}. Sizes are bytes, times milliseconds. */
export interface OpenApiOptions extends ServerOptions {
  /** Only these operations. Default: all. */
  readonly include?: OperationFilter;
  /** None of these. */
  readonly exclude?: OperationFilter;
  /** Put before each name: `{prefix}__{operationId}`. */
  readonly namePrefix?: string;
  /** Keys, tokens and passwords, by the name of their security scheme in the document. No model ever sees them. */
  readonly credentials?: Readonly<Record<string, OpenApiCredential>>;
  /** Headers of every call, such as a token for a document that names no scheme. No model sees or replaces them. */
  readonly headers?: OwnHeaders;
  /**
   * Origins, such as `https://uploads.example.com`, that get credentials and headers besides that of `baseUrl`, or without
   * one, of the document's first server.
   */
  readonly credentialOrigins?: readonly string[];
  /** Hosts, addresses and ranges that may be asked although they are not public. See `guardedHttp` of `@treadle/http`. */
  readonly allow?: readonly string[];
  /** What a call may take in all. Default 30 s. */
  readonly timeoutMs?: number;
  /**
   * Another transport, which then has to refuse by itself what must not be reached. Default: `guardedHttp` of
   * `@treadle/http`, which follows redirects on the same host only.
   */
  readonly http?: Http;
  /** Of a response's text, shown to the model. Default 64 KB. */
  readonly maxResponseBytes?: number;
  /** Of the document's text. Default 32 MB of JSON, 8 MB of YAML. */
  readonly maxBytes?: number;
  /** Characters of the schema of a parameter or a body, about. Deeper parts are left open. Default 16,000. */
  readonly maxSchemaLength?: number;
}

/** The operation behind a tool. */
export interface OpenApiOperation extends OperationPlace {
  readonly toolName: string;
}

/** The tools of a document. */
export interface OpenApiTools {
  readonly tools: readonly Tool[];
  /** Which operation each tool calls, in the same order. */
  readonly operations: readonly OpenApiOperation[];
  /** The chosen operations that are no tools, with the reasons. */
  readonly skipped: readonly SkippedOperation[];
}

/**
 * Makes a tool of each operation of an OpenAPI 3 document, given as data or as text in JSON or YAML. Nothing is asked for
 * that: references that lead out of the document are refused. GET and HEAD are read-only and may run again after a crash;
 * the others never do by themselves, and send an idempotency key where the operation declares one.
 *
 * @throws TreadleError `invalid_definition` for what is no OpenAPI 3 document, for filters about nothing in it, and when
 * none of the chosen operations can be a tool.
 * @example
 * ```ts
 * import { openApiTools } from '@treadle/openapi';
 *
 * const { tools } = openApiTools({
 *   openapi: '3.1.0',
 *   info: { title: 'Pets', version: '1' },
 *   servers: [{ url: 'https://pets.example/v1' }],
 *   paths: {
 *     '/pets/{id}': {
 *       get: {
 *         operationId: 'getPet',
 *         parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
 *       },
 *     },
 *   },
 * });
 * console.log(tools.map(({ name, replay }) => `${name} ${replay}`)); // [ 'getPet safe' ]
 * ```
 */
export function openApiTools(given: JsonObject | string, options: OpenApiOptions = {}): OpenApiTools {
  const document = readDocument(given, options.maxBytes);
  const { found, skipped: unreachable } = findOperations(document);
  const http =
    options.http ??
    guardedHttp({ allow: options.allow ?? [], redirects: 'same-host', totalTimeoutMs: options.timeoutMs ?? 30_000 });
  const follow = followIn(document);
  const trusted = trustedOrigins(document, options);
  const argumentSchema = argumentSchemas(follow, options.maxSchemaLength ?? 16_000);
  const reading = { follow, argumentSchema, hidden: hiddenOf(document, follow) };

  function makeTool(name: string, place: FoundOperation): Tool {
    const { operation, item } = place;
    const read = readOperation(place, reading);
    const server = serverOf([operation['servers'], item['servers'], document['servers']], options);
    const requirements = operation['security'] ?? document['security'];
    const needed = neededFor(requirements, document, follow, options.credentials ?? {});
    const { headers, maxResponseBytes = 64 * 1024 } = options;
    // A document names servers, and whoever wrote it may not be who the credentials are for.
    if (!trusted.has(server.origin) && (needed.length > 0 || headers !== undefined)) {
      throw new OpenApiProblem(
        'other_server',
        `It is served by ${server.origin}, which is not to get the credentials. Name that in credentialOrigins if it is.`,
      );
    }
    return operationTool(name, read, { http, server, needed, headers, maxResponseBytes });
  }

  const tools: Tool[] = [];
  const operations: OpenApiOperation[] = [];
  const skipped = [...unreachable];
  const names = new Set<string>();
  for (const operation of select(found, options.include, options.exclude)) {
    const { operationId, method, path } = operation;
    const name = toolName(operation, options.namePrefix, names);
    try {
      tools.push(makeTool(name, operation));
      names.add(name);
      operations.push({ toolName: name, operationId, method, path });
    } catch (error) {
      const problem = error instanceof OpenApiProblem ? error.code : 'bad_document';
      if (!(error instanceof OpenApiProblem) && !(error instanceof TreadleError)) throw error;
      skipped.push({ operationId, method, path, problem, message: error.message });
    }
  }
  const [first] = skipped;
  if (tools.length === 0) {
    const why = first === undefined ? '' : ` ${first.method} ${first.path}: ${first.message}`;
    throw new TreadleError('invalid_definition', `The OpenAPI document has no operation that can be a tool.${why}`, {
      details: { skipped },
    });
  }
  return { tools, operations, skipped };
}

function trustedOrigins(document: JsonObject, options: OpenApiOptions): ReadonlySet<string> {
  const trusted = new Set(options.credentialOrigins?.map((origin) => URL.parse(origin)?.origin ?? origin));
  try {
    trusted.add(serverOf([document['servers']], options).origin);
  } catch (error) {
    // Operations may have servers of their own; those without one say so themselves.
    if (!(error instanceof OpenApiProblem)) throw error;
  }
  return trusted;
}

/** @throws TreadleError for security schemes that can't be read: a key must not become an argument by that. */
function hiddenOf(document: JsonObject, follow: Follow): ReadonlySet<string> {
  try {
    return hiddenNames(document, follow);
  } catch (error) {
    if (!(error instanceof OpenApiProblem)) throw error;
    throw new TreadleError('invalid_definition', `The security schemes of the OpenAPI document: ${error.message}`);
  }
}
