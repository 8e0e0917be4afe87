import type { CredentialProvider } from './credentials.ts';

/** A token, or a function that is asked for one before each request and may keep it. */
export type TokenSource = string | (() => Promise<string> | string);

/** A token that a header can carry. Never quotes it. */
export function checkedToken(token: string): string {
  const trimmed = token.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new Error('The token is empty or has characters that no header can carry. Was it copied whole?');
}

/**
 * Credentials that send a token as `authorization: Bearer`, such as one of OAuth or of a cloud's own login, to any
 * deployment. A function is asked before each request, and once more after a refusal (401 or 403).
 *
 * @param refresh Called after a refusal, before the token is asked for again: forget what you kept.
 * @example
 * ```ts
 * import { bearerToken, resolveModel } from '@treadle/models';
 *
 * let kept: string | undefined;
 * const fetchToken = async (): Promise<string> => 'from your own token service';
 *
 * const credentials = bearerToken(
 *   async () => (kept ??= await fetchToken()),
 *   () => (kept = undefined),
 * );
 * const model = resolveModel('azure/my-deployment', { baseUrl: 'https://mine.openai.azure.com', credentials });
 * ```
 */
export function bearerToken(source: TokenSource, refresh?: () => unknown): CredentialProvider {
  const authorize: CredentialProvider['authorize'] = async () => {
    const token = typeof source === 'string' ? source : await source();
    return { authorization: `Bearer ${checkedToken(token)}` };
  };
  if (typeof source === 'string') return { authorize };
  return {
    authorize,
    async invalidate() {
      await refresh?.();
    },
  };
}
