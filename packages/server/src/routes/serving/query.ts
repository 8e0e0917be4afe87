import { RequestError } from '../../problem.ts';
import type { Route, RouteQuery } from './route.ts';

/** The parameters of a query that a route declares. @throws RequestError `bad_request` for a number that is none, or out of range. */
export function readQuery(given: URLSearchParams, declared: Route['query'] = {}): RouteQuery {
  const read: Record<string, string | number | boolean> = {};
  for (const [name, { schema }] of Object.entries(declared)) {
    const text = given.get(name);
    const { default: otherwise, type } = schema;
    if (text === null) {
      if (typeof otherwise === 'string' || typeof otherwise === 'number' || typeof otherwise === 'boolean')
        read[name] = otherwise;
    } else if (type === 'integer') read[name] = integer(name, text, schema);
    // Only the opposite of the default changes it.
    else if (type === 'boolean')
      read[name] = text === String(otherwise !== true) ? otherwise !== true : otherwise === true;
    else read[name] = text;
  }
  return read;
}

function integer(name: string, text: string, { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: RangeSchema): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= Number(minimum) && value <= Number(maximum)) return value;
  throw new RequestError(
    'bad_request',
    `\`${name}\` must be a whole number from ${String(minimum)} to ${String(maximum)}.`,
  );
}

interface RangeSchema {
  readonly minimum?: unknown;
  readonly maximum?: unknown;
}
