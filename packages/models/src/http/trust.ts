import type { SecureContext } from 'node:tls';

/** What a connection by TLS is made with, so that it trusts the right certificates. */
export interface SecureContextOptions {
  readonly secureContext?: SecureContext;
}

/**
 * The certificates to trust: Node's own, with those of `NODE_EXTRA_CA_CERTS`, and `ca` besides. Read once, at the first
 * connection. (Node's option of the same name trusts nothing but what it names.)
 */
export function trustOf(ca: string | undefined): () => SecureContextOptions {
  let options: SecureContextOptions | undefined = ca === undefined ? {} : undefined;
  return () => (options ??= { secureContext: contextOf(ca ?? '') });
}

const contextOf = (ca: string): SecureContext => {
  const tls = process.getBuiltinModule('node:tls');
  return tls.createSecureContext({ ca: [...tls.getCACertificates('default'), ca] });
};
