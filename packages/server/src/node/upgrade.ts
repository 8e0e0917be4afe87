import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { errorField } from '../log.ts';
import { isSessionId } from '../operations/schemas.ts';
import type { ServerParts } from '../parts.ts';
import { problemOf, RequestError } from '../problem.ts';
import { admitStream, connect, formatOf, positionAfter } from '../routes/stream.ts';
import { checkAccess, checkOrigin, checkReadable, identify } from '../security/admit.ts';
import { rateLimiter } from '../security/rate.ts';
import { bearerOf, type Principal } from '../security/tokens.ts';
import { socketSink } from '../streams/socket-sink.ts';

/** A WebSocket of a protocol of its own, under a path of its own. */
export interface SocketRoute {
  readonly path: string;
  /** Called with each socket that was let in. Its messages are bounded in size and in number before they come here. */
  open(
    socket: WebSocket,
    visit: { readonly principal: Principal; readonly url: URL; readonly parts: ServerParts },
  ): void;
}

/** The protocol that browsers name, which can't send headers with an upgrade; their token is the one beside it. */
const PROTOCOL = 'treadle.v1';
const TOKEN_PROTOCOL = 'treadle.token.';
const STREAM_PATH = /^\/v1\/sessions\/([^/]+)\/stream$/;

/** Answers upgrades to WebSockets: the same checks as for any request, before there is a socket. */
export function webSockets(parts: ServerParts, routes: readonly SocketRoute[]) {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: parts.limits.socketMessageBytes,
    perMessageDeflate: false,
    handleProtocols: (protocols) => (protocols.has(PROTOCOL) ? PROTOCOL : false),
  });

  async function admit(request: IncomingMessage): Promise<(socket: WebSocket) => void> {
    const { headers } = request;
    const visitor = { host: headers.host, origin: headers.origin };
    checkOrigin(parts, visitor);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = pathUnder(parts.basePath, url.pathname);
    const token = bearerOf(headers.authorization) ?? tokenIn(headers['sec-websocket-protocol']);
    const principal = await identify(parts, {
      ...visitor,
      token,
      headers: headersOf(request),
      address: request.socket.remoteAddress ?? 'unknown',
    });
    const route = routes.find((each) => each.path === path);
    if (!route) return sessionStream(parts, principal, url, path);
    checkAccess(principal, 'write', undefined);
    admitStream(parts, principal);
    return (socket) => {
      bound(parts, socket);
      route.open(socket, { principal, url, parts });
    };
  }

  return {
    handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      // Until it is a WebSocket nobody else listens for its failure.
      const gone = (): void => {
        socket.destroy();
      };
      socket.on('error', gone);
      admit(request).then(
        (open) => {
          socket.off('error', gone);
          server.handleUpgrade(request, socket, head, open);
        },
        (error: unknown) => refuse(parts, socket, error),
      );
    },
    close: (): void => server.close(),
  };
}

/** The path below the server's own; empty for a path that is not below it. */
const pathUnder = (basePath: string, path: string): string =>
  path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : '';

function headersOf({ headers }: IncomingMessage): Headers {
  const read = new Headers();
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) read.set(name, String(value));
  return read;
}

async function sessionStream(
  parts: ServerParts,
  principal: Principal,
  url: URL,
  path: string,
): Promise<(socket: WebSocket) => void> {
  const sessionId = STREAM_PATH.exec(path)?.[1] ?? '';
  if (!isSessionId(sessionId)) throw new RequestError('not_found', 'There is no WebSocket here.');
  await checkReadable(parts, principal, sessionId);
  const format = formatOf(parts, url.searchParams.get('format'));
  const from = await positionAfter(parts, sessionId, url.searchParams.get('after'));
  admitStream(parts, principal);
  return (socket) => {
    bound(parts, socket);
    connect({ parts, principal }, sessionId, { from }, format, socketSink(socket, format.ids));
  };
}

/** Closes sockets that send too much. What is longer than it may be, `ws` refuses itself, with 1009. */
function bound({ clock, limits }: ServerParts, socket: WebSocket): void {
  const messages = rateLimiter(clock, limits.socketMessages);
  socket.on('error', () => {});
  socket.on('message', () => {
    if (messages.take('') > 0) socket.close(1008, 'too many messages');
  });
}

/** The token that stands beside our protocol, in base64url. */
function tokenIn(protocols: string | undefined): string | null {
  const found = protocols
    ?.split(',')
    .map((each) => each.trim())
    .find((each) => each.startsWith(TOKEN_PROTOCOL));
  return found === undefined ? null : Buffer.from(found.slice(TOKEN_PROTOCOL.length), 'base64url').toString();
}

function refuse(parts: ServerParts, socket: Duplex, error: unknown): void {
  const problem = problemOf(error);
  if (problem.status >= 500) parts.log('error', 'upgrade_failed', { error: errorField(error) });
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\n` +
      'connection: close\r\ncontent-type: application/problem+json\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
