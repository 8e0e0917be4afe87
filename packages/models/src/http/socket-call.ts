import type { Duplex } from 'node:stream';
import type { HttpRequest } from '@treadle/core';
import type { Connection, Connections, Exchange as ConnectionExchange } from './connection.ts';
import type { Awaited, Deadlines } from './deadlines.ts';
import { decompressor } from './decompressor.ts';
import type { Call, Receiver } from './exchange.ts';
import type { HeaderText } from './request-bytes.ts';
import type { ResponseHead } from './response-head.ts';

/** What all calls of one transport share. */
export interface CallSetup {
  readonly idleTimeoutMs: number;
  /** Those whose response has not begun. */
  readonly unanswered: Deadlines<SocketCall>;
  /** Those of whose body somebody waits for more. */
  readonly idle: Deadlines<SocketCall>;
}

/**
 * One request on a socket, and its response.
 *
 * It is a class because a thousand runs that wait for their models wait in a thousand of these: made of closures it would
 * be several times as large.
 */
export class SocketCall implements Call, ConnectionExchange, Awaited {
  due = 0;
  earlier: this | undefined = undefined;
  later: this | undefined = undefined;

  // Not to be seen by whoever prints a stream: they have the key.
  readonly #request: HttpRequest;
  readonly #headers: HeaderText;
  private readonly setup: CallSetup;
  private readonly connections: Connections;
  private readonly receiver: Receiver;
  /** As long as it is ours: until the whole response has come. */
  private connection: Connection | undefined;
  /** The list in which it waits. */
  private waitsIn: Deadlines<SocketCall> | undefined;
  private unpacked: Duplex | undefined;
  private isAnswered = false;
  private isEmpty = true;
  private isWaitedFor = false;
  private isSecond = false;
  private isOver = false;

  constructor(
    setup: CallSetup,
    connections: Connections,
    request: HttpRequest,
    headers: HeaderText,
    receiver: Receiver,
  ) {
    this.setup = setup;
    this.connections = connections;
    this.#request = request;
    this.#headers = headers;
    this.receiver = receiver;
    this.waitIn(setup.unanswered);
    this.send(false);
  }

  get request(): HttpRequest {
    return this.#request;
  }

  get headers(): HeaderText {
    return this.#headers;
  }

  private send(isFresh: boolean): void {
    try {
      this.connection = isFresh ? this.connections.open() : this.connections.take();
    } catch (error) {
      return this.fail(error as Error);
    }
    this.connection.send(this);
  }

  private waitIn(list: Deadlines<SocketCall>): void {
    this.waitsIn = list;
    list.add(this);
  }

  private rest(): void {
    this.waitsIn?.remove(this);
    this.waitsIn = undefined;
  }

  onHead({ status, headers }: ResponseHead): void {
    this.rest();
    this.isAnswered = true;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined) this.unpack(decompressor(encoding));
    this.receiver.onResponse({ status, headers, idleTimeoutMs: this.setup.idleTimeoutMs });
    if (this.isWaitedFor) this.wait();
  }

  private unpack(unpacked: Duplex | undefined): void {
    this.unpacked = unpacked;
    unpacked?.on('data', (bytes: Uint8Array) => this.received(bytes));
    // Before the response is, if what follows is not packed: it is nobody's.
    unpacked?.on('end', () => this.ended());
    unpacked?.on('error', (error) => this.fail(error));
    unpacked?.on('drain', () => this.connection?.resume());
  }

  onData(bytes: Uint8Array): void {
    this.isEmpty = false;
    const unpacked = this.unpacked;
    if (unpacked === undefined) return this.received(bytes);
    // A copy: it is unpacked later.
    if (!unpacked.destroyed && !unpacked.write(Buffer.from(bytes))) this.connection?.pause();
  }

  private received(bytes: Uint8Array): void {
    if (this.isOver) return;
    this.isWaitedFor = false;
    this.rest();
    this.receiver.onChunk(bytes);
  }

  onEnd(): void {
    this.connection = undefined;
    if (this.unpacked === undefined) return this.ended();
    if (!this.isEmpty) return void this.unpacked.end();
    // Nothing is not packed.
    this.ended();
  }

  private ended(): void {
    if (this.isOver) return;
    this.cancel();
    this.receiver.onEnd();
  }

  onFailure(error: Error, gone: boolean): void {
    this.connection = undefined;
    // The server has most likely closed the connection while it was kept, and read nothing. That can't be known: it
    // may also have gone in the middle of its work. Then a model is asked twice, which costs money and no more.
    if (!gone || this.isSecond) return this.fail(error);
    this.isSecond = true;
    this.send(true);
  }

  /** It was waited for too long; it is in no list any more. */
  passed(error: Error): void {
    this.waitsIn = undefined;
    this.fail(error);
  }

  private fail(error: Error): void {
    if (this.isOver) return;
    this.cancel();
    this.receiver.onFailure(error);
  }

  wait(): void {
    this.isWaitedFor = true;
    if (this.isAnswered && !this.isOver && this.waitsIn === undefined) this.waitIn(this.setup.idle);
  }

  pause(): void {
    if (!this.isOver) (this.unpacked ?? this.connection)?.pause();
  }

  resume(): void {
    if (!this.isOver) (this.unpacked ?? this.connection)?.resume();
  }

  cancel(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.rest();
    this.connection?.destroy();
    this.connection = undefined;
    this.unpacked?.destroy();
  }
}
