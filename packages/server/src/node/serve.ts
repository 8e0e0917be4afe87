import { TreadleError } from '@treadle/core';
import { createServer, type AgentServer, type ServerOptions } from '../app.ts';
import { errorField } from '../log.ts';
import { newToken, type Authenticate, type TokenGrant } from '../security/tokens.ts';
import { listen, type Listening, type ListenOptions } from './listen.ts';

/** Options of {@link serve}. */
export interface ServeOptions extends ServerOptions, ListenOptions {
  /** Default, for an address of this machine only: one new token, which is in what `serve` returns. */
  readonly tokens?: readonly TokenGrant[] | Authenticate;
}

/** A server that listens. */
export interface Serving extends Listening {
  readonly server: AgentServer;
  /** The token that was made because none was given: to be shown once, and kept nowhere. Null when there were some. */
  readonly token: string | null;
  /** Resolves with the ids of sessions that were left unfinished and are driven again, once all logs have been looked at. */
  readonly recovered: Promise<readonly string[]>;
}

/**
 * Makes a server, listens, and goes on with what an earlier process left unfinished.
 *
 * @throws TreadleError `invalid_definition` for an address that others can reach, without tokens of your own.
 *
 * @example
 * ```ts
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { serve } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const serving = await serve({
 *   agents: [defineAgent({ model: scriptedModel(['Hello.']) })],
 *   journal: memoryJournal(),
 * });
 * const headers = { authorization: `Bearer ${serving.token}` };
 * const response = await fetch(`${serving.url}/v1/sessions`, { headers });
 * console.log(await response.json()); // { sessions: [] }
 * await serving.close();
 * ```
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { host = '127.0.0.1' } = options;
  const needsToken = options.tokens === undefined && options.authenticate === undefined;
  if (needsToken && !isLoopback(host)) {
    throw new TreadleError(
      'invalid_definition',
      `Others can reach this server at ${host}. Give it a token of your own, or have it listen at 127.0.0.1.`,
    );
  }
  const token = needsToken ? newToken() : null;
  const server = createServer(
    token === null ? options : { ...options, tokens: [{ name: 'owner', token, mayGrant: true }] },
  );
  const listening = await listen(server, options);
  const recovered = server.recover();
  // Whoever doesn't ask hears of a failure in the log.
  recovered.catch((error: unknown) => server.parts.log('error', 'recovery_failed', { error: errorField(error) }));
  return { ...listening, server, token, recovered };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
