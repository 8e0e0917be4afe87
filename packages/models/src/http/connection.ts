import type * as Net from 'node:net';
import type { Clock, HttpRequest } from '@treadle/core';
import { sendRequest } from './request-bytes.ts';
import type { HeaderText } from './request-bytes.ts';
import { createHeadReader } from './response-head.ts';
import type { HeadReader, ResponseHead } from './response-head.ts';
import { createResponseParser } from './response-parser.ts';
import type { ResponseHandler, ResponseParser } from './response-parser.ts';
import { transportError } from './timeouts.ts';

/** One request on a connection, and who is told of the response. */
export interface Exchange extends ResponseHandler {
  readonly request: HttpRequest;
  readonly headers: HeaderText;
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
  connect(reading: { readonly onread: Net.OnReadOpts }): Net.Socket;
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

/** Calls back when all that had come by now has been read: the rest of this round's events, and all of the next one's. */
const afterReading = (then: () => void): void => void setImmediate(() => setImmediate(then));

/** Requests that are sent together at most: the first of more must not wait for all of them. With fewer, none waits. */
const TOGETHER = 16;

let waiting: SocketConnection[] = [];

const sendWaiting = (): void => {
  const all = waiting;
  waiting = [];
  for (const connection of all) connection.start();
};

/**
 * Sends at the end of this round of the event loop, with what else is to be sent by then. Where many runs go on at once,
 * most of what a write costs is that it wakes whoever reads it: a server on this machine, or a proxy. One after the
 * other, they wake it once; between the work for two of them it falls asleep again.
 */
const sendTogether = (connection: SocketConnection): void => {
  if (waiting.length === 0) setImmediate(sendWaiting);
  waiting.push(connection);
  if (waiting.length >= TOGETHER) sendWaiting();
};

/** What all connections read into, one after the other: what comes is read, or copied, before the next bytes come. */
let readBuffer: Buffer | undefined;
const READ_BYTES = 64 * 1024;

/** The connections to one server: the one that was used last is used next, and each is closed when its server says so. */
export function createConnections(options: ConnectionsOptions): Connections {
  const { clock } = options;
  const readHead = createHeadReader();
  let kept: SocketConnection[] = [];
  let retired = false;
  let opened = 0;
  let isRestDue = false;

  /** Most are used again within the round of events in which they became free; only others are put to rest. */
  const rest = (): void => {
    isRestDue = false;
    for (let at = kept.length - 1; at >= 0; at--) {
      const connection = kept[at];
      // Those below it were at rest before.
      if (connection === undefined || connection.isAtRest) return;
      connection.rest();
    }
  };

  const keep = (connection: SocketConnection, keptMs: number | undefined): boolean => {
    const ms = keptMs === undefined ? Infinity : keptMs - KEPT_MARGIN_MS;
    if (retired || ms <= 0 || kept.length >= MOST_KEPT) return false;
    connection.since = clock.now();
    connection.until = connection.since + ms;
    kept.push(connection);
    if (!isRestDue) setImmediate(rest);
    isRestDue = true;
    return true;
  };

  const forget = (connection: SocketConnection): void => {
    const at = kept.lastIndexOf(connection);
    if (at >= 0) kept.splice(at, 1);
  };

  const closed = (): void => {
    opened -= 1;
  };

  const manyAreBusy = (): boolean => opened - kept.length > TOGETHER;

  const keeper: Keeper = { readHead, keep, forget, closed, manyAreBusy };
  const open = (): Connection => {
    const connection = new SocketConnection(options, keeper);
    opened += 1;
    return connection;
  };

  return {
    open,
    take() {
      for (let last = kept.pop(); last !== undefined; last = kept.pop()) {
        const now = clock.now();
        if (now < last.until) {
          last.wake(now - last.since >= DOUBTFUL_MS);
          return last;
        }
        last.destroy();
      }
      return open();
    },
    retire() {
      retired = true;
      const left = kept;
      kept = [];
      for (const connection of left) connection.destroy();
    },
  };
}

interface Keeper {
  readonly readHead: HeadReader;
  /** The connection is to wait for another request, for so many milliseconds. False when it isn't wanted. */
  keep(connection: SocketConnection, keptMs: number | undefined): boolean;
  /** It was closed while it waited. */
  forget(connection: SocketConnection): void;
  /** It is no more. */
  closed(): void;
  /** Whether so many requests are under way that they are sent together. */
  manyAreBusy(): boolean;
}

/** A class, for a thousand runs at once have a thousand of them. */
class SocketConnection implements Connection, ResponseHandler {
  /** While it is kept: since when, by the clock, and when it isn't used any more. */
  since = 0;
  until = 0;
  /** It keeps no process alive. */
  isAtRest = false;

  private readonly keeper: Keeper;
  private readonly socket: Net.Socket;
  private readonly parser: ResponseParser;
  private readonly isPlain: boolean;
  private isReady = false;
  private isUsed = false;
  private isKept = false;
  private isDoubtful = false;
  private isPaused = false;
  /** Whether the current request's bytes were given to the socket. */
  private isSent = false;
  private current: Exchange | undefined;
  private head: ResponseHead | undefined;
  private closes = false;

  constructor({ connect, readyEvent }: ConnectionsOptions, keeper: Keeper) {
    this.keeper = keeper;
    this.parser = createResponseParser(keeper.readHead);
    this.isPlain = readyEvent === 'connect';
    const buffer = (readBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES));
    const socket = connect({ onread: { buffer, callback: (length) => this.received(buffer, length) } });
    this.socket = socket;
    socket.on(readyEvent, () => {
      this.isReady = true;
      this.start();
    });
    socket.on('end', () => this.ended());
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => {
      keeper.closed();
      this.fail(transportError('ECONNRESET', 'The connection was closed before it answered.'));
    });
  }

  send(exchange: Exchange): void {
    this.current = exchange;
    this.isKept = false;
    this.closes = exchange.headers.closes;
    this.head = undefined;
    this.isSent = false;
    if (!this.isReady) return;
    if (this.isDoubtful) {
      this.isDoubtful = false;
      afterReading(() => this.start());
    } else if (this.keeper.manyAreBusy()) sendTogether(this);
    else this.start();
  }

  /** Sends the request that waits for that, if there still is one. */
  start(): void {
    const exchange = this.current;
    if (exchange === undefined || this.isSent) return;
    const { request, headers } = exchange;
    this.isSent = true;
    this.parser.begin(this, request.method !== 'HEAD');
    sendRequest(this.socket, request, headers, this.isPlain);
  }

  /** It is kept, and waits. */
  rest(): void {
    this.isAtRest = true;
    this.socket.unref();
  }

  /** It is to be used again: if it is in doubt, after what the server did meanwhile has been seen. */
  wake(isDoubtful: boolean): void {
    this.isDoubtful = isDoubtful;
    if (!this.isAtRest) return;
    this.isAtRest = false;
    this.socket.ref();
  }

  pause(): void {
    this.isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.socket.resume();
  }

  destroy(): void {
    if (this.isKept) this.keeper.forget(this);
    this.isKept = false;
    this.current = undefined;
    this.socket.destroy();
  }

  onHead(head: ResponseHead): void {
    this.head = head;
    this.current?.onHead(head);
  }

  onData(piece: Uint8Array): void {
    this.current?.onData(piece);
  }

  onEnd(): void {
    const told = this.current;
    this.current = undefined;
    told?.onEnd();
  }

  private received(bytes: Buffer, length: number): true {
    try {
      const wasBusy = this.current !== undefined;
      this.parser.push(bytes, length);
      if (wasBusy && this.current === undefined) this.release();
    } catch (error) {
      this.fail(error as Error);
    }
    return true;
  }

  /** A response is over; what of its request wasn't read by then can't be taken back. */
  private release(): void {
    const socket = this.socket;
    const head = this.head;
    if (socket.destroyed) return;
    const mayStay =
      head !== undefined &&
      !this.closes &&
      !head.closes &&
      head.length !== 'until_close' &&
      socket.writableLength === 0;
    this.isUsed = true;
    this.resume();
    this.isKept = mayStay && this.keeper.keep(this, head.keptMs);
    if (!this.isKept) this.destroy();
  }

  private ended(): void {
    const wasBusy = this.current !== undefined;
    if (this.parser.end() && wasBusy && this.current === undefined) return this.destroy();
    const where = this.head === undefined ? 'before it answered' : 'in the middle of the response';
    this.fail(transportError('ECONNRESET', `The connection was closed ${where}.`));
  }

  private fail(error: NodeJS.ErrnoException): void {
    const told = this.current;
    this.destroy();
    if (told === undefined) return;
    const isClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE';
    told.onFailure(error, this.isUsed && (!this.isSent || (!this.parser.hasBegun() && isClosed)));
  }
}
