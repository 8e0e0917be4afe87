import { TreadleError } from '@treadle/core';

const isMissing = (thrown: unknown): boolean => {
  const code: unknown = thrown instanceof Error ? (thrown as { code?: unknown }).code : undefined;
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
};

/**
 * Loads an optional library.
 *
 * @param advice What to do when it isn't installed.
 * @throws TreadleError `invalid_definition` when it isn't installed; what it throws itself stays as it is.
 */
export async function loadLibrary<Library>(load: () => Promise<Library>, advice: string): Promise<Library> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new TreadleError('invalid_definition', advice, { cause: error });
  }
}

/**
 * Passes a failure on. Bundlers fail on an import of a library that isn't installed, unless its failure is handled where it is
 * written: `import('undici').catch(passOn)`.
 */
export const passOn = (cause: unknown): never => {
  throw cause;
};
