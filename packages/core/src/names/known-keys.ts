import { TreadleError } from '../errors.ts';
import { didYouMean } from './closest.ts';

/**
 * Refuses keys that nobody reads: what somebody meant to say by them would be passed over.
 *
 * @param what whose keys they are, such as `An agent`
 * @param known every key there is. Typed by the object, so that none is missing.
 * @throws TreadleError `invalid_definition` that names the key, and the nearest known one.
 */
export function refuseUnknownKeys<Of extends object>(
  what: string,
  given: Of,
  known: Readonly<Record<keyof Of & string, true>>,
): void {
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, key)) continue;
    throw new TreadleError(
      'invalid_definition',
      `${what} has no ${JSON.stringify(key)}.${didYouMean(key, Object.keys(known))}`,
    );
  }
}
