import type { CredentialProvider } from './credentials.ts';
import type { GoogleTokenOptions } from './google-options.ts';
import { loadLibrary } from './optional-library.ts';

const CLOUD_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

const ADVICE =
  'Tokens of Google Cloud take the library google-auth-library, which is not installed: run `npm install ' +
  'google-auth-library`, or pass an access token as `apiKey`, or your own `credentials`.';

/** What is used of the library: something that authorizes requests and keeps its token. */
interface Authorizer {
  getRequestHeaders(url: string): Promise<Headers>;
}

/** Makes an authorizer, without a token yet. */
export type LoadGoogleAuth = () => Promise<(options: GoogleTokenOptions) => Authorizer>;

const fromLibrary: LoadGoogleAuth = async () => {
  const { GoogleAuth, JWT } = await import('google-auth-library');
  return ({ serviceAccount, keyFile, scopes: asked = [CLOUD_SCOPE] }) => {
    const scopes = [...asked];
    if (serviceAccount !== undefined) {
      return new JWT({ email: serviceAccount.client_email, key: serviceAccount.private_key, scopes });
    }
    return new GoogleAuth({ scopes, ...(keyFile === undefined ? {} : { keyFilename: keyFile }) });
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

  const open = async (): Promise<Authorizer> => (await loadLibrary(load, ADVICE))(options);

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
