import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { bytesOfBody, type HttpRequest } from '@treadle/core/ports';

import { parseAddress } from './address.ts';
import { idleProblem } from './body.ts';
import type { HttpLimits } from './limits.ts';
import { HttpProblem, shownUrl } from './problem.ts';
import { hostnameOf } from './target.ts';

/** One request to one address. */
export interface Exchange {
  readonly url: URL;
  /** Checked already, and connected to as it is: nothing looks a name up any more. */
  readonly address: string;
  readonly method: HttpRequest['method'];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpRequest['body'];
  readonly limits: Required<HttpLimits>;
  readonly ca?: string;
  /** Registers what is to happen when the exchange has to stop. */
  readonly onStop: (stop: (problem: HttpProblem) => void) => void;
}

/** The head of a response, and how to end its connection. */
export interface Answer {
  readonly response: IncomingMessage;
  readonly close: () => void;
}

/** Nobody answered at this address: the next one may be tried, for nothing was sent. */
export const NOT_CONNECTED = 'not connected';

/** Headers that are the transport's to say. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'keep-alive',
  'proxy-connection',
  'accept-encoding',
]);

/** Sends a request to an address and waits for the head of its response. Rejects with an `HttpProblem`. */
export function exchange(input: Exchange): Promise<Answer | typeof NOT_CONNECTED> {
  const { url, limits } = input;
  const shown = shownUrl(url);
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    // No connection is kept: the next request may be to another address of the same name.
    const request = secure
      ? httpsRequest({ ...optionsOf(input), ...tlsOf(input), agent: new HttpsAgent({ keepAlive: false }) })
      : httpRequest({ ...optionsOf(input), agent: new HttpAgent({ keepAlive: false }) });
    let isConnected = false;
    let isOver = false;
    const close = (): void => void request.destroy();
    /** Does what ends the exchange, once. */
    const settle = (end: () => void): void => {
      if (isOver) return;
      isOver = true;
      cancelIdle();
      end();
    };
    const fail = (problem: HttpProblem): void => {
      settle(() => {
        close();
        reject(problem);
      });
    };
    const cancelIdle = limits.clock.after(limits.idleTimeoutMs, () => fail(idleProblem(shown, limits.idleTimeoutMs)));
    input.onStop(fail);
    request.on('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => (isConnected = true));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error;
      if (code === 'HPE_HEADER_OVERFLOW') {
        const problem = `${shown} answered with more headers than ${limits.maxHeaderBytes} bytes.`;
        fail(new HttpProblem('headers_too_large', problem));
      } else if (!isConnected && TRY_NEXT.has(code)) {
        settle(() => {
          close();
          resolve(NOT_CONNECTED);
        });
      } else {
        const what = isConnected ? 'asked' : 'reached';
        const cause = error.code ?? error.message;
        fail(new HttpProblem('connection_failed', `${shown} could not be ${what}: ${cause}.`, error));
      }
    });
    request.on('response', (response) => {
      if (isOver) response.destroy();
      settle(() => resolve({ response, close }));
    });
    if (input.body === undefined) request.end();
    else request.end(bytesOfBody(input.body));
  });
}

/** Failures of a connection before anything was sent over it. */
const TRY_NEXT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EADDRNOTAVAIL',
]);

function optionsOf({ url, address, method, headers, body, limits }: Exchange): RequestOptions {
  const sent: Record<string, string> = { host: hostHeader(url), 'accept-encoding': 'gzip, deflate, br' };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!OWN_HEADERS.has(lower)) sent[lower] = value;
  }
  if (body !== undefined) sent['content-length'] = String(bytesOfBody(body).length);
  return {
    host: address,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method,
    headers: sent,
    maxHeaderSize: limits.maxHeaderBytes,
    // A second `content-length`, or bytes that are no HTTP, are an error and no riddle.
    insecureHTTPParser: false,
  };
}

/** The certificate has to be the name's, although the connection is to its address. */
function tlsOf({ url, ca }: Exchange): { servername: string; ca?: string } {
  const name = hostnameOf(url);
  return { servername: parseAddress(name) === null ? name : '', ...(ca === undefined ? {} : { ca }) };
}

/** Without the dot that may end a name: servers compare names, and know it without. */
const hostHeader = (url: URL): string => url.host.replace(/\.(?=:\d+$|$)/, '');
