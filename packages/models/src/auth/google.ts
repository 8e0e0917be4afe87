import { parseObject } from '../protocols/shared/json-text.ts';
import type { CredentialProvider } from './credentials.ts';
import type { GoogleTokenOptions } from './google-options.ts';
import { loadLibrary, passOn } from './optional-library.ts';

const CLOUD_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

const ADVICE =
  'Tokens of Google Cloud take the library google-auth-library, which is not installed: run `npm install ' +
  'google-auth-library`, or pass an access token as `apiKey`, or your own `credentials`.';

/** What is used of the library: something that authorizes requests and keeps its token. */
interface Authorizer {
  getRequestHeaders(url: string): Promise<Headers>;
}

/** Makes an authorizer, without a token yet. */
type OpenGoogleAuth = (options: GoogleTokenOptions) => Promise<Authorizer> | Authorizer;
export type LoadGoogleAuth = () => Promise<OpenGoogleAuth>;

type Library = typeof import('google-auth-library');
type Fields = Readonly<Record<string, unknown>>;

const textOf = (fields: Fields, name: string): string => {
  const value = fields[name];
  if (typeof value !== 'string') throw new Error(`The file with credentials has no ${name}.`);
  return value;
};

/** Whose credentials a file has. The library's own way to read any of them is deprecated. */
async function fromFile(library: Library, keyFile: string, scopes: string[]): Promise<Authorizer> {
  const { readFile } = await import('node:fs/promises').catch(passOn);
  const fields = parseObject(await readFile(keyFile, 'utf8'));
  if (fields === undefined) throw new Error(`${keyFile} is not a JSON object.`);
  switch (fields['type']) {
    case 'service_account':
      return new library.JWT({ email: textOf(fields, 'client_email'), key: textOf(fields, 'private_key'), scopes });
    case 'authorized_user':
      return new library.UserRefreshClient({
        clientId: textOf(fields, 'client_id'),
        clientSecret: textOf(fields, 'client_secret'),
        refreshToken: textOf(fields, 'refresh_token'),
      });
    case 'external_account': {
      const options = { ...fields, scopes } as unknown as Parameters<Library['ExternalAccountClient']['fromJSON']>[0];
      const client = library.ExternalAccountClient.fromJSON(options);
      if (client !== null) return client;
    }
  }
  throw new Error(
    `${keyFile} has credentials of a kind that can't be read from a file. Set GOOGLE_APPLICATION_CREDENTIALS to it instead.`,
  );
}

const fromLibrary: LoadGoogleAuth = async () => {
  const library = await import('google-auth-library').catch(passOn);
  return ({ serviceAccount, keyFile, scopes: asked = [CLOUD_SCOPE] }) => {
    const scopes = [...asked];
    if (serviceAccount !== undefined) {
      return new library.JWT({ email: serviceAccount.client_email, key: serviceAccount.private_key, scopes });
    }
    return keyFile === undefined ? new library.GoogleAuth({ scopes }) : fromFile(library, keyFile, scopes);
  };
};

/**
 * Tokens of Google Cloud: of a service account, or of the application default credentials (the file that
 * `GOOGLE_APPLICATION_CREDENTIALS` names, a login with `gcloud`, or the machine's own account). They are fetched by
 * `google-auth-library`, an optional peer dependency that is loaded with the first request, and kept until they expire or
 * are refused.
 *
 * @example
 * ```ts
 * import { googleToken } from '@treadle/models/vertex';
 *
 * const credentials = googleToken({ keyFile: 'service-account.json' });
 * ```
 */
export function googleToken(options: GoogleTokenOptions = {}): CredentialProvider {
  return googleTokenFrom(options, fromLibrary);
}

/** {@link googleToken} with another way to the library. */
export function googleTokenFrom(options: GoogleTokenOptions, load: LoadGoogleAuth): CredentialProvider {
  let auth: Promise<Authorizer> | undefined;

  const open = async (): Promise<Authorizer> => {
    const make = await loadLibrary(load, ADVICE);
    return make(options);
  };

  return {
    async authorize({ url }) {
      const opened = (auth ??= open());
      try {
        // Only the origin: a path says more than the library needs to know.
        const headers = await (await opened).getRequestHeaders(new URL(url).origin);
        return Object.fromEntries(headers);
      } catch (error) {
        // What failed once, such as a file that isn't there yet, is tried again with the next request.
        if (auth === opened) auth = undefined;
        throw error;
      }
    },
    invalidate() {
      auth = undefined;
    },
  };
}
