import { AWS_LIBRARIES } from './aws-libraries.ts';
import type { AwsSignatureOptions } from './aws-options.ts';
import { awsSignatureWith } from './aws-signature.ts';
import type { CredentialProvider } from './credentials.ts';

/**
 * Signs requests for AWS (Signature Version 4), with `@smithy/signature-v4` and `@aws-crypto/sha256-js`, which are
 * loaded with the first request.
 *
 * A missing library or region is a TreadleError `invalid_definition` with the request that misses it.
 *
 * @example
 * ```ts
 * import { awsSignature, bedrockConverse, nodeHttp, wireModel } from '@treadle/models';
 *
 * const model = wireModel({
 *   protocol: bedrockConverse(),
 *   provider: 'bedrock',
 *   modelId: 'amazon.nova-lite-v1:0',
 *   baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
 *   headers: {},
 *   credentials: awsSignature({ credentials: { accessKeyId: 'your id', secretAccessKey: 'your key' } }),
 *   http: nodeHttp(),
 * });
 * ```
 */
export function awsSignature(options: AwsSignatureOptions = {}): CredentialProvider {
  return awsSignatureWith(AWS_LIBRARIES, options);
}
