import { TreadleError } from '../errors.ts';
import { didYouMean } from './closest.ts';

/**
 * Refuses keys that nobody reads: what somebody meant to say by them would be passed over.
 *
 * @param what whose keys they are, such as `An agent`
 * @param known every key there is. Typed by the object, so that none is missing.
 * @param instead what to write in place of keys that people know from elsewhere
 * @throws TreadleError `invalid_definition` that names the key, and the nearest known one.
 */
export function refuseUnknownKeys<Of extends object>(
  what: string,
  given: Of,
  known: Readonly<Record<keyof Of & string, true>>,
  instead: Readonly<Record<string, string>> = {},
): void {
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, key)) continue;
    const better = Object.hasOwn(instead, key) ? ` Write: ${instead[key]}` : didYouMean(key, Object.keys(known));
    throw new TreadleError('invalid_definition', `${what} has no ${JSON.stringify(key)}.${better}`);
  }
}
