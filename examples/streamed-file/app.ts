import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, errorText, memoryJournal, type Http, type Journal, type Model } from '@treadle/core';
import { fatalError, GENERATE_CODE_CANCELLED, GENERATE_CODE_ERROR } from '@treadle/formats';
import { nodeHttp } from '@treadle/models';
import { createServer, listen, type Listening, type SocketRoute } from '@treadle/server';
import { demoModels } from './demo/model.ts';
import { createImageStore, type ImageServices } from './images.ts';
import type { ProviderKeys } from './models.ts';
import { OWN_POLICY, PREVIEW_POLICY } from './policy.ts';
import { createProjects, type Projects, type Reader } from './projects.ts';
import { readMessage, RequestProblem, type ClientMessage } from './request.ts';
import { cookieOf, projectRoutes, tokenCheck } from './routes.ts';

export interface AppOptions {
  /** The models to write with, given the keys of a request. Without any, the demo model writes. */
  readonly models?: (keys: ProviderKeys) => readonly Model[];
  readonly images?: ImageServices;
  /** Where projects are kept. Default: in memory, and gone with the process. */
  readonly journal?: Journal;
  /** Where images are kept. Default: in memory. */
  readonly imageFolder?: string;
  /** The path of a Chromium, for `screenshot_preview`. Default: models have no such tool. */
  readonly chromium?: string;
  readonly http?: Http;
  readonly host?: string;
  readonly port?: number;
  /** Milliseconds between two pieces of what the demo models write. */
  readonly demoDelayMs?: number;
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

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

const FILES = [
  { path: '/', file: 'index.html', type: HTML, policy: OWN_POLICY },
  ...['app', 'code', 'dom', 'log', 'server', 'stage', 'variant'].map((name) => ({
    path: `/${name}.js`,
    file: `${name}.js`,
    type: SCRIPT,
    policy: OWN_POLICY,
  })),
  ...['request', 'style', 'stage'].map((name) => ({
    path: `/${name}.css`,
    file: `${name}.css`,
    type: 'text/css; charset=utf-8',
    policy: OWN_POLICY,
  })),
  { path: '/icon.svg', file: 'icon.svg', type: 'image/svg+xml', policy: "default-src 'none'; sandbox" },
  { path: '/preview', file: 'preview.html', type: HTML, policy: PREVIEW_POLICY },
];

/** Starts the application: the page at `/`, and the WebSocket at `/generate-code`. */
export async function startApp(options: AppOptions = {}): Promise<App> {
  const { models = () => [], journal = memoryJournal(), http = nodeHttp(), images: services = {} } = options;
  const token = options.token ?? randomBytes(24).toString('base64url');
  const store = createImageStore(options.imageFolder ?? null);
  const demo = demoModels(options.demoDelayMs);
  const projects = createProjects({ journal, http, services, store, chromium: options.chromium ?? null });
  const grant = { name: 'page', token };
  const isToken = tokenCheck(token);
  const server = createServer({
    agents: [defineAgent({ id: 'page', model: models({})[0] ?? demo[0] })],
    journal,
    tokens: [grant],
    // A browser keeps the cookie through a reload; nothing that runs in a page can read it.
    authenticate: ({ headers }) => (isToken(cookieOf(headers)) ? { name: 'page' } : null),
    limits: { socketMessageBytes: MAX_REQUEST },
    routes: projectRoutes(projects),
  });
  for (const { path, file, type, policy } of FILES) {
    const text = readFileSync(join(import.meta.dirname, 'page', file));
    server.app.get(path, () => new Response(text, { headers: headersOf(type, policy) }));
  }
  server.app.get('/images/:name', (context) => {
    const image = store.find(context.req.param('name'));
    if (!image) return new Response(null, { status: 404 });
    return new Response(new Uint8Array(image.bytes), {
      headers: headersOf(image.mediaType, "default-src 'none'; sandbox"),
    });
  });
  const modelsFor = (keys: ProviderKeys): readonly Model[] => {
    const found = models(keys);
    return found.length > 0 ? found : demo;
  };
  const sockets = new Set<Socket>();
  const route: SocketRoute = {
    path: '/generate-code',
    open(socket) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      serveSocket(socket, projects, modelsFor);
    },
  };
  const { host = '127.0.0.1', port = 0 } = options;
  const listening = await listen(server, { host, port, sockets: [route] });
  await projects.recover([...models({}), ...demo]);
  return {
    ...listening,
    token,
    close(waitMs) {
      // Pages come back by themselves, to whoever listens then.
      for (const socket of sockets) socket.terminate();
      return listening.close(waitMs);
    },
  };
}

const headersOf = (type: string, policy: string): Record<string, string> => ({
  'content-type': type,
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

/** One message, one answer: the socket is closed when nothing that it tells of is at work any more. */
function serveSocket(socket: Socket, projects: Projects, modelsFor: (keys: ProviderKeys) => readonly Model[]): void {
  const cancelled = new AbortController();
  socket.once('close', (code: number) => {
    // A connection that breaks off cancels nothing: what was begun is in the sessions when it is done.
    if (code === GENERATE_CODE_CANCELLED) cancelled.abort();
  });
  const send: Reader = (frames) => {
    if (socket.readyState !== socket.OPEN) return;
    for (const { data } of frames) socket.send(data);
    if (socket.bufferedAmount > MAX_BUFFERED) socket.close(1013, 'too slow');
  };
  socket.once('message', (data: Buffer) => {
    void (async () => {
      try {
        await answer(readMessage(data.toString()), { projects, modelsFor, send, signal: cancelled.signal });
        socket.close(1000, 'finished');
      } catch (error) {
        send([fatalError(error instanceof RequestProblem ? error.message : errorText(error))]);
        socket.close(GENERATE_CODE_ERROR, 'failed');
      }
    })();
  });
}

interface Visit {
  readonly projects: Projects;
  readonly modelsFor: (keys: ProviderKeys) => readonly Model[];
  readonly send: Reader;
  readonly signal: AbortSignal;
}

async function answer(message: ClientMessage, { projects, modelsFor, send, signal }: Visit): Promise<void> {
  const name = message.action === 'create' ? message.request.project : message.project;
  const project = await projects.find(name);
  if (message.action === 'create' && !project?.isBegun) {
    const reader = message.isNamed ? send : onlyProtocol(send);
    await projects.create(message.request, modelsFor(message.request.keys), reader, signal);
    return;
  }
  // A request that is sent again finds what it has begun.
  if (!project) throw new RequestProblem('There is no such project. It may have been made by another server.');
  if (message.action === 'change') void project.change(message, modelsFor(message.keys));
  signal.addEventListener('abort', project.abort, { once: true });
  const leave = project.join(send);
  await project.settled();
  leave();
}

/** A client that knows nothing of projects is told what the protocol has, and no more. */
const onlyProtocol =
  (send: Reader): Reader =>
  (frames) =>
    send(frames.filter(({ data }) => !OF_PROJECTS.test(data)));

const OF_PROJECTS = /^\{"type":"(?:runStarted|runEnded|shown)"/;
