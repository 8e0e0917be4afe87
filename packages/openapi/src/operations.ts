import type { JsonObject, JsonSchema, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { HttpRequest } from '@treadle/core/ports';

import { bodyOf, type RequestBody } from './body.ts';
import { safeName } from './names.ts';
import { parametersOf, type OperationReading, type Parameter } from './parameters.ts';
import { OpenApiProblem, type OpenApiProblemCode } from './problem.ts';
import { followIn } from './document/references.ts';
import { cut } from './document/schema.ts';

/** Where an operation is in its document. */
export interface OperationPlace {
  /** Null when the document gives none. */
  readonly operationId: string | null;
  /** In upper case. */
  readonly method: string;
  /** As the document has it: `/pets/{petId}`. */
  readonly path: string;
}

/** An operation that became no tool, and why. */
export interface SkippedOperation extends OperationPlace {
  readonly problem: OpenApiProblemCode;
  readonly message: string;
}

/** An operation, found but not read yet. */
export interface FoundOperation extends OperationPlace {
  readonly tags: readonly string[];
  readonly operation: JsonObject;
  readonly item: JsonObject;
}

/** An operation with all that a tool needs to know of it. */
export interface Operation extends OperationPlace {
  readonly method: HttpRequest['method'];
  readonly description: string;
  readonly label: string;
  readonly parameters: readonly Parameter[];
  readonly idempotencyHeader: string | null;
  readonly body: RequestBody | null;
  /** The argument that the body is; empty without one. */
  readonly bodyKey: string;
  /** The arguments of the whole operation. */
  readonly schema: JsonSchema;
}

const METHODS: Readonly<Record<string, HttpRequest['method'] | null>> = {
  get: 'GET',
  put: 'PUT',
  post: 'POST',
  delete: 'DELETE',
  patch: 'PATCH',
  head: 'HEAD',
  options: null,
  trace: null,
};

/** Every operation of a document, in its order, and those that can't be reached. */
export function findOperations(document: JsonObject): {
  readonly found: readonly FoundOperation[];
  readonly skipped: readonly SkippedOperation[];
} {
  const follow = followIn(document);
  const found: FoundOperation[] = [];
  const skipped: SkippedOperation[] = [];
  const { paths } = document;
  for (const [path, given] of Object.entries(isJsonObject(paths) ? paths : {})) {
    if (path.startsWith('x-')) continue;
    const skip = (method: string, operationId: string | null, error: unknown): void => {
      if (!(error instanceof OpenApiProblem)) throw error;
      skipped.push({ operationId, method, path, problem: error.code, message: error.message });
    };
    try {
      if (!path.startsWith('/')) throw new OpenApiProblem('bad_document', 'Its path does not begin with a slash.');
      const item = follow(given);
      for (const [word, method] of Object.entries(METHODS)) {
        if (item[word] === undefined) continue;
        try {
          const operation = follow(item[word]);
          const { operationId, tags } = operation;
          const id = typeof operationId === 'string' && operationId !== '' ? operationId : null;
          if (method === null) skip(word.toUpperCase(), id, new OpenApiProblem('unsupported', `${word} is not sent.`));
          else {
            const names = Array.isArray(tags) ? (tags as JsonValue[]).filter((tag) => typeof tag === 'string') : [];
            found.push({ operationId: id, method, path, tags: names, operation, item });
          }
        } catch (error) {
          skip(word.toUpperCase(), null, error);
        }
      }
    } catch (error) {
      skip('*', null, error);
    }
  }
  return { found, skipped };
}

/** The name of an operation's tool: its id, or its method and path. */
export function toolName(place: OperationPlace, prefix: string | undefined, taken: ReadonlySet<string>): string {
  const { operationId, method, path } = place;
  const own = operationId ?? `${method.toLowerCase()}${path}`;
  return safeName(prefix === undefined ? own : `${prefix}__${own}`, taken);
}

/** @throws OpenApiProblem for an operation that can't be read. */
export function readOperation(place: FoundOperation, reading: OperationReading): Operation {
  const { operation, item, method, path, operationId } = place;
  const { list, idempotencyHeader } = parametersOf([item['parameters'], operation['parameters']], path, reading);
  const sendsBody = method !== 'GET' && method !== 'HEAD';
  const body = sendsBody ? bodyOf(operation['requestBody'], reading.follow, reading.argumentSchema) : null;
  const bodyKey = body === null ? '' : safeName('body', new Set(list.map(({ key }) => key)), '.');
  const { summary, description } = operation;
  const words = [summary, description].filter((text) => typeof text === 'string' && text.trim() !== '') as string[];
  return {
    operationId,
    method: method as HttpRequest['method'],
    path,
    label: cut(words[0] ?? operationId ?? `${method} ${path}`, 80).replaceAll('\n', ' ') || path,
    description: [...words.map((text) => cut(text, 800)), `${method} ${cut(path, 200)}`].join('\n'),
    parameters: list,
    idempotencyHeader,
    body,
    bodyKey,
    schema: wholeSchema(list, body, bodyKey),
  };
}

function wholeSchema(parameters: readonly Parameter[], body: RequestBody | null, bodyKey: string): JsonSchema {
  const properties = parameters.map(({ key, schema }): [string, JsonValue] => [key, schema]);
  const required = parameters.filter((parameter) => parameter.required).map(({ key }) => key);
  if (body !== null) {
    properties.push([bodyKey, body.schema]);
    if (body.required) required.push(bodyKey);
  }
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}
