import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Waits on this machine for a browser to come back from an authorization server. */
export interface CallbackServer extends AsyncDisposable {
  readonly redirectUrl: string;
  /** The parameters of the next call that has this `state`. */
  wait(state: string, signal: AbortSignal): Promise<URLSearchParams>;
}

const PATH = '/callback';
const DONE = '<!doctype html><title>Treadle</title><p>You can close this window.';

/** Listens on a port of the loopback interface that the system chooses. */
export async function listenForCallback(): Promise<CallbackServer> {
  const waiting = new Map<string, (parameters: URLSearchParams) => void>();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const take = waiting.get(searchParams.get('state') ?? '');
    const isOurs = request.method === 'GET' && pathname === PATH && take !== undefined;
    response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/html; charset=utf-8', connection: 'close' });
    response.end(isOurs ? DONE : 'Not found');
    if (isOurs) take(searchParams);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    redirectUrl: `http://127.0.0.1:${port}${PATH}`,
    wait: (state, signal) =>
      new Promise((resolve, reject) => {
        const stop = (): void => {
          waiting.delete(state);
          reject(new Error('Nobody logged in in time.'));
        };
        signal.addEventListener('abort', stop, { once: true });
        waiting.set(state, (parameters) => {
          waiting.delete(state);
          signal.removeEventListener('abort', stop);
          resolve(parameters);
        });
      }),
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
