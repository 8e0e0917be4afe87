import { TreadleError, type Model } from '@treadle/core';
import { ANTHROPIC_ROWS } from '../catalogue/rows/anthropic.ts';
import { OPENAI_ROWS } from '../catalogue/rows/openai.ts';
import { XAI_ROWS } from '../catalogue/rows/xai.ts';
import { BEDROCK_SNAPSHOT } from '../catalogue/snapshot/bedrock.ts';
import { awsRegion, type AwsCredentialSource } from '../auth/aws-options.ts';
import { awsSignature } from '../auth/aws.ts';
import { defined } from '@treadle/core/json';
import type { Environment } from '../http/proxy.ts';
import { bedrockConverse } from '../protocols/bedrock/protocol.ts';
import type { BedrockQuirks } from '../protocols/bedrock/quirks.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployment.ts';

/** Options of a model of Amazon Bedrock. */
export interface BedrockOptions extends ModelOptions {
  /** Default: `AWS_REGION`, else `AWS_DEFAULT_REGION`. */
  readonly region?: string;
  /** Keys to sign requests with. Default: the environment's bearer token or keys, else what AWS's own search finds. */
  readonly awsCredentials?: AwsCredentialSource;
  readonly quirks?: BedrockQuirks;
}

const regionalUrl = (region: string | undefined, env: Environment): string => {
  const known = awsRegion(region, env);
  if (known === undefined) {
    throw new TreadleError(
      'invalid_definition',
      'No region for bedrock. Set AWS_REGION, or pass `region` or `baseUrl`.',
    );
  }
  return `https://bedrock-runtime.${known}.amazonaws.com${known.startsWith('cn-') ? '.cn' : ''}`;
};

const signatureFor = ({ region, awsCredentials, clock }: BedrockOptions, env: Environment | undefined) =>
  awsSignature(defined({ region, credentials: awsCredentials, clock, env }));

const deploymentOf = (options: BedrockOptions): Deployment => ({
  name: 'bedrock',
  protocol: bedrockConverse(options.quirks),
  baseUrl: (env, given) => given ?? regionalUrl(options.region, env),
  version: '',
  keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
  baseUrlVariable: ['BEDROCK_BASE_URL', 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME'],
  auth: { header: 'authorization', prefix: 'Bearer ' },
  catalogue: [...BEDROCK_SNAPSHOT, ...ANTHROPIC_ROWS, ...OPENAI_ROWS, ...XAI_ROWS],
  credentials: (env) => signatureFor(options, env),
  credentialVariables: [
    'AWS_ACCESS_KEY_ID',
    'AWS_PROFILE',
    'AWS_WEB_IDENTITY_TOKEN_FILE',
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  ],
  secretVariables: ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
});

/** Amazon Bedrock, by ConverseStream. The name of a model is its id, an inference profile's, or an ARN. */
export const BEDROCK: Deployment = deploymentOf({});

/**
 * A model of Amazon Bedrock. Requests carry the bearer token of `AWS_BEARER_TOKEN_BEDROCK` or `apiKey` where there is
 * one; otherwise they are signed, which takes the libraries that {@link awsSignature} names.
 *
 * @throws TreadleError `invalid_definition` without a region: set `AWS_REGION` or pass `region`.
 * @example
 * ```ts
 * import { bedrock } from '@treadle/models/bedrock';
 *
 * const model = bedrock('anthropic.claude-3-haiku-20240307-v1:0', { region: 'us-east-1' });
 * ```
 */
export function bedrock(modelId: string, options: BedrockOptions = {}): Model {
  const { region: _region, awsCredentials, quirks: _quirks, ...rest } = options;
  // Keys that were given win over a token that happens to be in the environment.
  const signed = awsCredentials !== undefined && rest.credentials === undefined && rest.apiKey === undefined;
  const credentials = signed ? { credentials: signatureFor(options, rest.env) } : {};
  return deploymentModel(deploymentOf(options), modelId, { ...rest, ...credentials });
}
