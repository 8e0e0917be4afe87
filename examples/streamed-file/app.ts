import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, errorText, memoryJournal, type Http, type Journal, type Model } from '@treadle/core';
import { fatalError, GENERATE_CODE_CANCELLED, GENERATE_CODE_ERROR } from '@treadle/formats';
import { nodeHttp } from '@treadle/models';
import { createServer, listen, type Frame, type Listening, type SocketRoute } from '@treadle/server';
import { demoPages } from './demo-pages.ts';
import { createImageStore, type ImageServices } from './images.ts';
import type { ProviderKeys } from './models.ts';
import { readRequest, RequestProblem } from './request.ts';
import { makeVariants, type Workshop } from './variants.ts';

export interface AppOptions {
  /** The models to write with, given the keys of a request. Without any, the demo model writes. */
  readonly models?: (keys: ProviderKeys) => readonly Model[];
  readonly images?: ImageServices;
  readonly journal?: Journal;
  readonly http?: Http;
  readonly host?: string;
  readonly port?: number;
  /** Default: a new one. */
  readonly token?: string;
}

/** The application, listening. */
export interface App extends Listening {
  /** What the page asks for. It is in no address. */
  readonly token: string;
}

type Socket = Parameters<SocketRoute['open']>[0];

/** Bytes that may wait for a reader before it is cut off: whole pages are sent again and again. */
const MAX_BUFFERED = 32 * 1024 * 1024;
/** Screenshots come in the request. */
const MAX_REQUEST = 32 * 1024 * 1024;

/** Where pages commonly load their libraries from. A page that was generated may load scripts from nowhere else. */
const LIBRARIES = 'https://cdn.tailwindcss.com https://cdn.jsdelivr.net https://cdnjs.cloudflare.com https://unpkg.com';

const OWN_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Of the frame that shows generated pages, and so of these pages. The response itself makes it a sandbox, whoever frames it: an
 * origin of its own, which reaches nothing of ours, and no connections but for pictures and libraries.
 */
const PREVIEW_POLICY =
  `sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' ${LIBRARIES}; ` +
  `style-src 'unsafe-inline' ${LIBRARIES} https://fonts.googleapis.com; font-src data: https:; img-src 'self' data: https:; ` +
  "connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

const FILES = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8', policy: OWN_POLICY },
  { path: '/app.js', file: 'app.js', type: 'text/javascript; charset=utf-8', policy: OWN_POLICY },
  { path: '/style.css', file: 'style.css', type: 'text/css; charset=utf-8', policy: OWN_POLICY },
  { path: '/preview', file: 'preview.html', type: 'text/html; charset=utf-8', policy: PREVIEW_POLICY },
] as const;

/** Starts the application: the page at `/`, and the WebSocket at `/generate-code`. */
export async function startApp(options: AppOptions = {}): Promise<App> {
  const { models = () => [], journal = memoryJournal(), http = nodeHttp(), images: services = {} } = options;
  const token = options.token ?? randomBytes(24).toString('base64url');
  const store = createImageStore();
  const demo = demoPages();
  const server = createServer({
    agents: [defineAgent({ id: 'page', model: models({})[0] ?? demo })],
    journal,
    tokens: [{ name: 'page', token }],
    limits: { socketMessageBytes: MAX_REQUEST },
  });
  for (const { path, file, type, policy } of FILES) {
    const text = readFileSync(join(import.meta.dirname, 'page', file));
    server.app.get(path, () => new Response(text, { headers: headersOf(type, policy) }));
  }
  server.app.get('/images/:name', (context) => {
    const bytes = store.find(context.req.param('name'));
    if (!bytes) return new Response(null, { status: 404 });
    return new Response(new Uint8Array(bytes), { headers: headersOf('image/png', "default-src 'none'; sandbox") });
  });
  const workshop: Workshop = { journal, http, services, store };
  const modelsFor = (keys: ProviderKeys): readonly Model[] => {
    const found = models(keys);
    return found.length > 0 ? found : [demo];
  };
  const route: SocketRoute = { path: '/generate-code', open: (socket) => serveSocket(socket, workshop, modelsFor) };
  const { host = '127.0.0.1', port = 0 } = options;
  const listening = await listen(server, { host, port, sockets: [route] });
  return { ...listening, token };
}

const headersOf = (type: string, policy: string): Record<string, string> => ({
  'content-type': type,
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

/** One request, one answer: the socket's first message is read, and the socket closed when all variants have ended. */
function serveSocket(socket: Socket, workshop: Workshop, modelsFor: (keys: ProviderKeys) => readonly Model[]): void {
  const cancelled = new AbortController();
  socket.once('close', (code: number) => {
    // A connection that breaks off cancels nothing: what was begun is in the sessions when it is done.
    if (code === GENERATE_CODE_CANCELLED) cancelled.abort();
  });
  const send = (frames: readonly Frame[]): void => {
    if (socket.readyState !== socket.OPEN) return;
    for (const { data } of frames) socket.send(data);
    if (socket.bufferedAmount > MAX_BUFFERED) socket.close(1013, 'too slow');
  };
  socket.once('message', (data: Buffer) => {
    void (async () => {
      try {
        const request = readRequest(data.toString());
        await makeVariants(request, modelsFor(request.keys), workshop, send, cancelled.signal);
        socket.close(1000, 'finished');
      } catch (error) {
        send([fatalError(error instanceof RequestProblem ? error.message : errorText(error))]);
        socket.close(GENERATE_CODE_ERROR, 'failed');
      }
    })();
  });
}
