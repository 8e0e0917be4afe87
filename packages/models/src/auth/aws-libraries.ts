import { passOn } from './optional-library.ts';

/** The libraries that know AWS's credentials and signatures, loaded when the first request wants them. */
export interface AwsLibraries {
  readonly signature: () => Promise<typeof import('@smithy/signature-v4')>;
  readonly hash: () => Promise<typeof import('@aws-crypto/sha256-js')>;
  readonly chain: () => Promise<typeof import('@aws-sdk/credential-provider-node')>;
}

/** The optional peer dependencies of this package. */
export const AWS_LIBRARIES: AwsLibraries = {
  signature: () => import('@smithy/signature-v4').catch(passOn),
  hash: () => import('@aws-crypto/sha256-js').catch(passOn),
  chain: () => import('@aws-sdk/credential-provider-node').catch(passOn),
};

export { loadLibrary } from './optional-library.ts';
