import { TreadleError } from '@treadle/core';

import type { FoundOperation } from '../operations.ts';

/** Operations by any of these. */
export interface OperationFilter {
  /** Ids (`getPet`), or methods with paths (`GET /pets/{petId}`). */
  readonly operations?: readonly string[];
  readonly tags?: readonly string[];
  /** What a path begins with: `/pets`. */
  readonly paths?: readonly string[];
}

/** @throws TreadleError `invalid_definition` for a filter that is about nothing in the document: it is misspelt. */
export function select(
  all: readonly FoundOperation[],
  include: OperationFilter | undefined,
  exclude: OperationFilter | undefined,
): readonly FoundOperation[] {
  for (const filter of [include, exclude]) {
    for (const each of filter === undefined ? [] : singles(filter)) {
      if (all.some((operation) => matches(operation, each))) continue;
      throw new TreadleError(
        'invalid_definition',
        `The OpenAPI document has no operation by ${JSON.stringify(each)}: correct include or exclude.`,
      );
    }
  }
  return all.filter(
    (operation) =>
      (include === undefined || matches(operation, include)) && (exclude === undefined || !matches(operation, exclude)),
  );
}

const singles = ({ operations = [], tags = [], paths = [] }: OperationFilter): OperationFilter[] => [
  ...operations.map((operation) => ({ operations: [operation] })),
  ...tags.map((tag) => ({ tags: [tag] })),
  ...paths.map((path) => ({ paths: [path] })),
];

function matches(operation: FoundOperation, { operations = [], tags = [], paths = [] }: OperationFilter): boolean {
  const { operationId, method, path } = operation;
  if (operationId !== null && operations.includes(operationId)) return true;
  if (operations.includes(`${method} ${path}`)) return true;
  return tags.some((tag) => operation.tags.includes(tag)) || paths.some((prefix) => path.startsWith(prefix));
}
