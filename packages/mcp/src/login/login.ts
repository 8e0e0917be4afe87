import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import type { JsonObject } from '@treadle/core';

import { McpProblem } from '../client/problem.ts';
import { listenForCallback } from './callback.ts';
import type { CallbackServer } from './callback.ts';
import type { Credentials, CredentialStore } from './store.ts';

/** What a server's configuration may say of the client that logs in. All of it is optional. */
export interface OAuthOptions {
  /** A client that was registered by hand. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** An address where the client's metadata can be read, for servers that take such addresses as ids. */
  readonly clientMetadataUrl?: string;
  readonly scope?: string;
}

/** Tokens for one server. */
export interface McpLogin {
  /** For the SDK's transports. */
  readonly provider: OAuthClientProvider;
  /** Waits for the browser; null where nobody can log in. */
  readonly callback: (() => Promise<URLSearchParams>) | null;
  /** The tokens that were used so far, so that nobody is shown them. */
  readonly secrets: ReadonlySet<string>;
}

/** What a program that shows its user a login has. */
export interface LoginOptions {
  /** Shows the page to the user. The address is never opened by anything else. */
  readonly open: (url: string) => void | Promise<void>;
  /** Milliseconds for the user. Default 300,000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 300_000;

/** Uses the tokens there are, and refreshes them. A server that wants a login is a problem `needs_login`. */
export function savedLogin(server: string, url: string, store: CredentialStore, options: OAuthOptions = {}): McpLogin {
  // A provider without a redirect would be taken for one that logs in without a user.
  const secrets = new Set<string>();
  const provider = providerOf(url, noting(store, secrets), options, 'http://127.0.0.1/callback', null, () => {
    throw new McpProblem('needs_login', `The MCP server ${server} wants a login. Run: treadle mcp login ${server}`);
  });
  return { provider, callback: null, secrets };
}

/** A login by the user's browser, which comes back to a port of this machine. Dispose of it when it is done. */
export async function browserLogin(
  url: string,
  store: CredentialStore,
  { open, timeoutMs = TIMEOUT_MS }: LoginOptions,
  options: OAuthOptions = {},
): Promise<McpLogin & AsyncDisposable> {
  const listening: CallbackServer = await listenForCallback();
  const state = { current: '' };
  const secrets = new Set<string>();
  const provider = providerOf(url, noting(store, secrets), options, listening.redirectUrl, state, (page) =>
    open(page.href),
  );
  return {
    provider,
    secrets,
    callback: () => listening.wait(state.current, AbortSignal.timeout(timeoutMs)),
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  };
}

/** The store, which notes the secrets that come out of it and go into it. */
function noting(store: CredentialStore, secrets: Set<string>): CredentialStore {
  const note = ({ client, tokens }: Credentials): void => {
    for (const value of [client?.['client_secret'], tokens?.['access_token'], tokens?.['refresh_token']]) {
      if (typeof value === 'string') secrets.add(value);
    }
  };
  return {
    ...store,
    async read(url, issuer) {
      const found = await store.read(url, issuer);
      note(found);
      return found;
    },
    async write(url, issuer, change) {
      note(change);
      await store.write(url, issuer, change);
    },
  };
}

function providerOf(
  url: string,
  store: CredentialStore,
  { clientId, clientSecret, clientMetadataUrl, scope }: OAuthOptions,
  redirectUrl: string,
  state: { current: string } | null,
  show: (page: URL) => void | Promise<void>,
): OAuthClientProvider {
  let verifier = '';
  let discovered: unknown;
  const fixed =
    clientId === undefined ? null : { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) };
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Treadle',
      redirect_uris: [redirectUrl],
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
      ...(scope === undefined ? {} : { scope }),
    },
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    async clientInformation(about) {
      const issuer = about?.issuer;
      if (fixed) return { ...fixed, ...(issuer === undefined ? {} : { issuer }) };
      const { client } = await store.read(url, issuer);
      const known = client as { redirect_uris?: readonly string[] } | undefined;
      // The port is another one at each login, and not every server knows that it doesn't matter.
      const isForThis = state === null || known?.redirect_uris?.includes(redirectUrl) !== false;
      return isForThis ? (client as never) : undefined;
    },
    saveClientInformation: (client, about) => store.write(url, issuerOf(about), { client: asJson(client) }),
    async tokens(about) {
      const { tokens } = await store.read(url, about?.issuer);
      return tokens as never;
    },
    saveTokens: (tokens, about) => store.write(url, issuerOf(about), { tokens: asJson(tokens) }),
    redirectToAuthorization: show,
    saveCodeVerifier: (text) => void (verifier = text),
    codeVerifier: () => verifier,
    // Kept for the way to the browser and back, and not longer: the next challenge may name another server.
    saveDiscoveryState: (found) => void (discovered = found),
    discoveryState: () => discovered as never,
    async invalidateCredentials(what) {
      if (what === 'tokens') await store.forget(url, 'tokens');
      if (what === 'all' || what === 'client') await store.forget(url, 'all');
      if (what === 'all' || what === 'discovery') discovered = undefined;
    },
  };
  if (state) provider.state = () => (state.current = randomBytes(24).toString('base64url'));
  return provider;
}

const issuerOf = (about: { readonly issuer?: string } | undefined): string => about?.issuer ?? 'unknown';
const asJson = (value: object): JsonObject => value as unknown as JsonObject;
