import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { OpenApiProblem } from '../problem.ts';

/** Follows the references of one document, and none out of it. */
export type Follow = (value: JsonValue | undefined) => JsonObject;

/** References that lead to references, at most. */
const MAX_STEPS = 32;

/**
 * The object that a value is, or that its `$ref` leads to.
 *
 * @throws OpenApiProblem `foreign_reference`, `broken_reference`, or `bad_document` when there is no object.
 */
export function followIn(document: JsonObject): Follow {
  return (value) => {
    let found = value;
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if (!isJsonObject(found)) throw new OpenApiProblem('bad_document', 'Something is no object where one belongs.');
      const { $ref: reference } = found;
      if (reference === undefined) return found;
      found = lookUp(document, reference);
    }
    throw new OpenApiProblem('broken_reference', `${shown(value)} leads to references only.`);
  };
}

function lookUp(document: JsonObject, reference: JsonValue): JsonValue | undefined {
  if (typeof reference !== 'string') throw new OpenApiProblem('broken_reference', 'A $ref is no text.');
  if (!reference.startsWith('#')) {
    throw new OpenApiProblem(
      'foreign_reference',
      `The reference ${JSON.stringify(reference.slice(0, 200))} leads out of the document, and is not followed. Put what ` +
        'it leads to into the document.',
    );
  }
  let found: JsonValue = document;
  for (const segment of pointerSegments(reference)) {
    const next: JsonValue | undefined =
      typeof found === 'object' && Object.hasOwn(found ?? {}, segment) ? (found as JsonObject)[segment] : undefined;
    if (next === undefined)
      throw new OpenApiProblem('broken_reference', `${shown({ $ref: reference })} leads nowhere.`);
    found = next;
  }
  return found;
}

function pointerSegments(reference: string): string[] {
  const pointer = reference.slice(1);
  if (pointer === '') return [];
  try {
    const [first, ...segments] = decodeURIComponent(pointer).split('/');
    if (first === '') return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    // Not percent-encoded text: as broken as what has no slash.
  }
  throw new OpenApiProblem('broken_reference', `${shown({ $ref: reference })} is no path into the document.`);
}

const shown = (value: JsonValue | undefined): string =>
  isJsonObject(value) ? `The reference ${JSON.stringify(value['$ref'] ?? '').slice(0, 200)}` : 'A value';
