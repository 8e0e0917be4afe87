import { RequestError } from '../../problem.ts';

/** A whole number of a query. @throws RequestError `bad_request` for anything else. */
export function integer(
  query: URLSearchParams,
  name: string,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new RequestError('bad_request', `\`${name}\` must be a whole number from ${least} to ${most}.`);
}

/** A parameter that may be missing, as a property that may be. */
export function optional<Name extends string>(query: URLSearchParams, name: Name): { readonly [Key in Name]?: string } {
  const value = query.get(name);
  return (value === null ? {} : { [name]: value }) as { readonly [Key in Name]?: string };
}
