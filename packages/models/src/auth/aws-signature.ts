import { systemClock, TreadleError } from '@treadle/core';
import { defined } from '@treadle/core/json';
import type { Environment } from '../http/proxy.ts';
import { loadLibrary, type AwsLibraries } from './aws-libraries.ts';
import { awsRegion, setIn, type AwsCredentials, type AwsSignatureOptions } from './aws-options.ts';
import type { CredentialProvider, UnauthorizedRequest } from './credentials.ts';

const INSTALL_SIGNER =
  'Signing requests for AWS takes two libraries that are not installed: npm install @smithy/signature-v4 ' +
  '@aws-crypto/sha256-js. (A bearer token in AWS_BEARER_TOKEN_BEDROCK needs neither.)';

const NO_CREDENTIALS =
  'No AWS credentials. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for profiles and ' +
  'roles: npm install @aws-sdk/credential-provider-node.';

const NO_REGION = 'No AWS region. Set AWS_REGION, or pass `region`.';

/** The region in a host such as `bedrock-runtime.eu-west-1.amazonaws.com`, or in that of a private endpoint. */
const regionOfHost = (hostname: string): string | undefined =>
  /\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/.exec(hostname)?.[1];

const environmentKeys = (env: Environment): AwsCredentials | undefined => {
  const accessKeyId = setIn(env, 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = setIn(env, 'AWS_SECRET_ACCESS_KEY');
  const sessionToken = setIn(env, 'AWS_SESSION_TOKEN');
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...defined({ sessionToken }) };
};

/** A function that finds keys, and one that forgets those it found. */
interface KeySource {
  find(): Promise<AwsCredentials>;
  forget?(): void;
}

/** AWS's own search, which keeps what it found until it expires. */
const chainSource = (libraries: AwsLibraries): KeySource => {
  let chain: (() => Promise<AwsCredentials>) | undefined;
  return {
    async find() {
      if (chain === undefined) {
        const { defaultProvider } = await loadLibrary(libraries.chain, NO_CREDENTIALS);
        chain ??= defaultProvider();
      }
      return chain();
    },
    forget() {
      chain = undefined;
    },
  };
};

const keySource = (options: AwsSignatureOptions, env: Environment, libraries: AwsLibraries): KeySource => {
  const given = options.credentials ?? environmentKeys(env);
  if (given === undefined) return chainSource(libraries);
  return typeof given === 'function' ? { find: given } : { find: () => Promise.resolve(given) };
};

/** Headers the signature covers, beside AWS's own: what a proxy may change on the way stays out. */
const signedHeaders = (request: UnauthorizedRequest, host: string): Record<string, string> => {
  const headers: Record<string, string> = { host };
  for (const [name, value] of Object.entries(request.headers)) {
    if (name === 'content-type' || name.startsWith('x-amz')) headers[name] = value;
  }
  return headers;
};

const queryOf = (url: URL): Record<string, string[]> => {
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
  return query;
};

/** Signs requests for AWS with these libraries. */
export function awsSignatureWith(libraries: AwsLibraries, options: AwsSignatureOptions = {}): CredentialProvider {
  const { service = 'bedrock', clock = systemClock } = options;
  const env = options.env ?? (typeof process === 'object' ? process.env : {});
  const source = keySource(options, env, libraries);

  const loadSigner = async () => {
    const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
      loadLibrary(libraries.signature, INSTALL_SIGNER),
      loadLibrary(libraries.hash, INSTALL_SIGNER),
    ]);
    return (region: string, credentials: AwsCredentials) =>
      new SignatureV4({ service, region, credentials, sha256: Sha256 });
  };
  let loaded: ReturnType<typeof loadSigner> | undefined;

  return {
    async authorize(request) {
      const url = new URL(request.url);
      const region = options.region ?? regionOfHost(url.hostname) ?? awsRegion(undefined, env);
      if (region === undefined) throw new TreadleError('invalid_definition', NO_REGION);
      loaded ??= loadSigner();
      // A library that couldn't be loaded may be there the next time.
      loaded.catch(() => (loaded = undefined));
      const signer = await loaded;
      const unsigned = signedHeaders(request, url.host);
      const signed = await signer(region, await source.find()).sign(
        {
          method: request.method,
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query: queryOf(url),
          // A digest of the body that the caller brings stands, such as that of a payload that isn't to be signed.
          headers: unsigned,
          body: request.body,
        },
        { signingDate: new Date(clock.now()) },
      );
      return Object.fromEntries(Object.entries(signed.headers).filter(([name]) => unsigned[name] === undefined));
    },
    ...defined({ invalidate: source.forget }),
  };
}
