import { errorText } from './errors.ts';

/** Anything that was thrown, as an error. Never throws itself. */
export function asError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // A proxy may refuse to say what it is.
  }
  return new Error(errorText(thrown));
}
