import { TreadleError, type Clock } from '@treadle/core';
import type { Environment } from '../http/proxy.ts';

/** Keys of an AWS identity. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Goes with keys that expire. */
  readonly sessionToken?: string;
  /** When keys that expire do. */
  readonly expiration?: Date;
}

/** Where keys come from: the keys themselves, or a function that is asked before every request and may keep them. */
export type AwsCredentialSource = AwsCredentials | (() => Promise<AwsCredentials>);

/** Options of `awsSignature`. */
export interface AwsSignatureOptions {
  /** The service's name in signatures. Default `bedrock`. */
  readonly service?: string;
  /** Default: what the host's name says, else `AWS_REGION` or `AWS_DEFAULT_REGION`. */
  readonly region?: string;
  /**
   * Default: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, else AWS's own search through
   * profiles, containers and machine roles, if `@aws-sdk/credential-provider-node` is installed.
   */
  readonly credentials?: AwsCredentialSource;
  readonly env?: Environment;
  readonly clock?: Clock;
}

/** A variable of the environment that says something. */
export const setIn = (env: Environment, name: string): string | undefined => {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
};

/** `given`, else the environment's region. */
export function awsRegion(given: string | undefined, env: Environment): string | undefined {
  const region = given ?? setIn(env, 'AWS_REGION') ?? setIn(env, 'AWS_DEFAULT_REGION');
  if (region === undefined || /^[a-z0-9-]+$/.test(region)) return region;
  throw new TreadleError('invalid_definition', 'The AWS region is not one such as us-east-1.');
}
