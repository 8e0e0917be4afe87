import { TreadleError } from '@treadle/core';

/** The libraries that know AWS's credentials and signatures, loaded when the first request wants them. */
export interface AwsLibraries {
  readonly signature: () => Promise<typeof import('@smithy/signature-v4')>;
  readonly hash: () => Promise<typeof import('@aws-crypto/sha256-js')>;
  readonly chain: () => Promise<typeof import('@aws-sdk/credential-provider-node')>;
}

/** The optional peer dependencies of this package. */
export const AWS_LIBRARIES: AwsLibraries = {
  signature: () => import('@smithy/signature-v4'),
  hash: () => import('@aws-crypto/sha256-js'),
  chain: () => import('@aws-sdk/credential-provider-node'),
};

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
