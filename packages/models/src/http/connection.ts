import type * as Net from 'node:net';
import type { Clock } from '@treadle/core';
import { createHeadReader } from './response-head.ts';
import type { HeadReader, ResponseHead } from './response-head.ts';
import { createResponseParser } from './response-parser.ts';
import type { ResponseHandler } from './response-parser.ts';
import { transportError } from './timeouts.ts';

/** One request on a connection: its bytes, and who is told of the response. */
export interface Exchange extends ResponseHandler {
  readonly bytes: readonly Uint8Array[];
  /** Whether it asks the server to close the connection after the response. */
  readonly closes: boolean;
  /** Whether a response to it may have a body. */
  readonly expectsBody: boolean;
  /**
   * Nothing more will come. `gone` says that the connection had been kept and that it broke before the request was sent,
   * or that the server closed it without having answered a byte: the request may be sent again on another.
   */
  onFailure(error: Error, gone: boolean): void;
}

/** A connection to one server, for one request at a time. */
export interface Connection {
  send(exchange: Exchange): void;
  /** Holds the server back, and lets it go on. */
  pause(): void;
  resume(): void;
  /** Closes it, in the middle of whatever it does; nobody is told. */
  destroy(): void;
  /** Lets the next request wait until what the server did meanwhile has been seen. */
  doubt(): void;
}

/** Connections to one server. */
export interface Connections {
  /** One that was kept, else a new one. */
  take(): Connection;
  /** A new one. */
  open(): Connection;
  /** Keeps none any more. */
  retire(): void;
}

export interface ConnectionsOptions {
  connect(): Net.Socket;
  /** What the socket says when data can be sent; on TLS, once the certificate has been checked. */
  readonly readyEvent: 'connect' | 'secureConnect';
  readonly clock: Clock;
}

/** Connections that are kept while nobody uses them: when a thousand runs end at once, the next thousand needn't connect. */
const MOST_KEPT = 1024;

/** A server that closes a connection after so many seconds may do so this much earlier, by our clock. */
const KEPT_MARGIN_MS = 1000;

/** A connection that was kept for so long may have been closed, or told of a timeout, without our having seen it. */
const DOUBTFUL_MS = 1000;

interface Kept {
  readonly connection: Connection;
  readonly socket: Net.Socket;
  /** By the clock. */
  readonly since: number;
  /** It isn't used from then on. */
  readonly until: number;
}

/** Calls back when all that had come by now has been read: the rest of this round's events, and all of the next one's. */
const afterReading = (then: () => void): void => void setImmediate(() => setImmediate(then));

/** Requests that are sent together at most: the first of more must not wait for all of them. With fewer, none waits. */
const TOGETHER = 16;

let waiting: (() => void)[] = [];

const sendWaiting = (): void => {
  const all = waiting;
  waiting = [];
  for (const send of all) send();
};

/**
 * Sends at the end of this round of the event loop, with what else is to be sent by then. Where many runs go on at once,
 * most of what a write costs is that it wakes whoever reads it: a server on this machine, or a proxy. One after the
 * other, they wake it once; between the work for two of them it falls asleep again.
 */
const sendTogether = (send: () => void): void => {
  if (waiting.length === 0) setImmediate(sendWaiting);
  waiting.push(send);
  if (waiting.length >= TOGETHER) sendWaiting();
};

const write = (socket: Net.Socket, bytes: readonly Uint8Array[]): void => {
  const [first] = bytes;
  if (first !== undefined && bytes.length === 1) return void socket.write(first);
  socket.cork();
  for (const piece of bytes) socket.write(piece);
  socket.uncork();
};

/** The connections to one server: the one that was used last is used next, and each is closed when its server says so. */
export function createConnections(options: ConnectionsOptions): Connections {
  const { clock } = options;
  const readHead = createHeadReader();
  let kept: Kept[] = [];
  let retired = false;
  let opened = 0;

  const keep = (connection: Connection, socket: Net.Socket, keptMs: number | undefined): boolean => {
    const ms = keptMs === undefined ? Infinity : keptMs - KEPT_MARGIN_MS;
    if (retired || ms <= 0 || kept.length >= MOST_KEPT) return false;
    // A connection that waits keeps no process alive.
    socket.unref();
    const since = clock.now();
    kept.push({ connection, socket, since, until: since + ms });
    return true;
  };

  const forget = (connection: Connection): void => {
    const at = kept.findLastIndex((one) => one.connection === connection);
    if (at >= 0) kept.splice(at, 1);
  };

  const closed = (): void => {
    opened -= 1;
  };

  const manyAreBusy = (): boolean => opened - kept.length > TOGETHER;

  const open = (): Connection => {
    const connection = createConnection(options, { readHead, keep, forget, closed, manyAreBusy });
    opened += 1;
    return connection;
  };

  return {
    open,
    take() {
      for (let last = kept.pop(); last !== undefined; last = kept.pop()) {
        const now = clock.now();
        if (now < last.until) {
          last.socket.ref();
          if (now - last.since >= DOUBTFUL_MS) last.connection.doubt();
          return last.connection;
        }
        last.connection.destroy();
      }
      return open();
    },
    retire() {
      retired = true;
      const left = kept;
      kept = [];
      for (const { connection } of left) connection.destroy();
    },
  };
}

interface Keeper {
  readonly readHead: HeadReader;
  /** The connection is to wait for another request, for so many milliseconds. False when it isn't wanted. */
  keep(connection: Connection, socket: Net.Socket, keptMs: number | undefined): boolean;
  /** It was closed while it waited. */
  forget(connection: Connection): void;
  /** It is no more. */
  closed(): void;
  /** Whether so many requests are under way that they are sent together. */
  manyAreBusy(): boolean;
}

const createConnection = ({ connect, readyEvent }: ConnectionsOptions, keeper: Keeper): Connection => {
  const socket = connect();
  const parser = createResponseParser(keeper.readHead);
  let ready = false;
  let used = false;
  let isKept = false;
  let doubtful = false;
  /** Whether the current request's bytes were given to the socket. */
  let sent = false;
  let current: Exchange | undefined;
  let head: ResponseHead | undefined;
  let closes = false;

  const destroy = (): void => {
    if (isKept) keeper.forget(connection);
    isKept = false;
    current = undefined;
    socket.destroy();
  };

  const fail = (error: NodeJS.ErrnoException): void => {
    const told = current;
    destroy();
    if (told === undefined) return;
    const isClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE';
    told.onFailure(error, used && (!sent || (!parser.hasBegun() && isClosed)));
  };

  /** A response is over; what of its request wasn't read by then can't be taken back. */
  const release = (): void => {
    if (socket.destroyed) return;
    const mayStay =
      head !== undefined && !closes && !head.closes && head.length !== 'until_close' && socket.writableLength === 0;
    used = true;
    socket.resume();
    isKept = mayStay && keeper.keep(connection, socket, head?.keptMs);
    if (!isKept) destroy();
  };

  const handler: ResponseHandler = {
    onHead(received) {
      head = received;
      current?.onHead(received);
    },
    onData: (piece) => current?.onData(piece),
    onEnd() {
      const told = current;
      current = undefined;
      told?.onEnd();
    },
  };

  const start = ({ bytes, expectsBody }: Exchange): void => {
    sent = true;
    parser.begin(handler, expectsBody);
    write(socket, bytes);
  };

  const connection: Connection = {
    send(exchange) {
      current = exchange;
      isKept = false;
      closes = exchange.closes;
      head = undefined;
      sent = false;
      if (!ready) return;
      const sendIt = (): void => {
        if (current === exchange) start(exchange);
      };
      if (doubtful) {
        doubtful = false;
        afterReading(sendIt);
      } else if (keeper.manyAreBusy()) sendTogether(sendIt);
      else start(exchange);
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy,
    doubt() {
      doubtful = true;
    },
  };

  socket.on(readyEvent, () => {
    ready = true;
    if (current !== undefined) start(current);
  });
  socket.on('data', (bytes: Buffer) => {
    try {
      const wasBusy = current !== undefined;
      parser.push(bytes);
      if (wasBusy && current === undefined) release();
    } catch (error) {
      fail(error as Error);
    }
  });
  socket.on('end', () => {
    const wasBusy = current !== undefined;
    if (parser.end() && wasBusy && current === undefined) return destroy();
    const where = head === undefined ? 'before it answered' : 'in the middle of the response';
    fail(transportError('ECONNRESET', `The connection was closed ${where}.`));
  });
  socket.on('error', fail);
  socket.on('close', () => {
    keeper.closed();
    fail(transportError('ECONNRESET', 'The connection was closed before it answered.'));
  });
  return connection;
};
