/** Which hosts and origins requests may name. */
export interface OriginRules {
  /**
   * Host names that requests may be for, without a port; `*` for any. Default: this machine's own names, and addresses.
   * An address can't be rebound by DNS; a name can.
   */
  readonly hosts?: readonly string[];
  /** Further origins whose pages may use the server, such as `https://app.example`. The server's own always may. */
  readonly origins?: readonly string[];
}

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/;

/** Why a request for this host isn't served; null when it is. */
export function hostProblem(host: string | null | undefined, { hosts }: OriginRules): string | null {
  const name = HOST.exec((host ?? '').toLowerCase())?.[1]?.replace(/\.$/, '');
  if (name === undefined) return 'The request names no host.';
  if (hosts?.includes('*') || hosts?.includes(name) || LOCAL.has(name)) return null;
  if (hosts === undefined && ADDRESS.test(name)) return null;
  return `This server isn't known by the host name ${name}. Add it to \`origins.hosts\` of the server, or use its address.`;
}

/** Why a page of this origin mayn't make the request; null when it may, or when no page makes it. */
export function originProblem(
  origin: string | null | undefined,
  host: string | null | undefined,
  { origins = [] }: OriginRules,
): string | null {
  if (origin == null) return null;
  if (origins.includes(origin)) return null;
  const own = /^https?:\/\/(.+)$/.exec(origin)?.[1];
  if (own !== undefined && own.toLowerCase() === host?.toLowerCase()) return null;
  return 'Pages of this origin may not use this server. Add the origin to `origins.origins` of the server.';
}

/** Headers that let a page of an allowed origin read a response. Empty where no page asks, but for `vary`. */
export function originHeaders(origin: string | undefined, { origins = [] }: OriginRules): Headers {
  const headers = new Headers();
  if (origins.length > 0) headers.set('vary', 'origin');
  if (origin === undefined || !origins.includes(origin)) return headers;
  headers.set('access-control-allow-origin', origin);
  headers.set('access-control-allow-credentials', 'true');
  headers.set('access-control-expose-headers', 'retry-after, x-vercel-ai-ui-message-stream');
  return headers;
}
