import type { Socket } from 'node:net';
import { TreadleError, type Clock } from '@treadle/core';
import type postgres from 'postgres';
import { isOutage } from './outage.ts';
import type { Sockets } from './sockets.ts';

/** How long a server may say nothing. */
export interface Deadline {
  /** Calls `expired` when its time is over, unless it is cancelled by what is returned. */
  begin(expired: (error: TreadleError) => void): () => void;
}

/** All deadlines of a client. */
export interface Deadlines extends Deadline {
  /** Whether there is an answer to wait for. */
  isWaiting(): boolean;
}

/**
 * A connection can swallow what is sent without ever closing. When a statement's time is over, the connections that have
 * been silent for half of it are destroyed: whichever the statement was on, it and those like it are replaced.
 */
export function deadlinesOf(clock: Clock, ms: number, sockets: Sockets): Deadlines {
  const waiting = new Set<Waiting>();
  /** A timer for each statement would cost each of them more than waiting does: one ticks for all that wait. */
  let isTicking = false;

  function tick(): void {
    isTicking = false;
    for (const one of waiting) {
      one.ticks -= 1;
      if (one.ticks === TICKS / 2) one.received = sockets.received();
      else if (one.ticks === 0) giveUp(one);
    }
    if (waiting.size > 0) wait();
  }

  function giveUp(one: Waiting): void {
    sockets.giveUp(one.received);
    waiting.delete(one);
    const message = `The Postgres server has not answered for ${ms} ms. Whether it has done what it was asked for is unknown.`;
    one.expired(new TreadleError('journal_timeout', message));
  }

  /** Ticks are counted, and no time is read: a machine that has slept, or whose clock was set, gives up on nobody for it. */
  function wait(): void {
    isTicking = true;
    // Whoever waits for an answer has a connection open, which keeps the process alive.
    clock.after(ms / TICKS, tick, { background: true });
  }

  return {
    isWaiting: () => waiting.size > 0,
    begin(expired) {
      // The first tick of one that comes between two is too early.
      const one: Waiting = { ticks: isTicking ? TICKS + 1 : TICKS, expired, received: NOTHING };
      waiting.add(one);
      if (!isTicking) wait();
      return () => void waiting.delete(one);
    },
  };
}

/** In how many parts the time of a statement is measured: it has up to one more of them. */
const TICKS = 4;

const NOTHING: ReadonlyMap<Socket, number> = new Map();

interface Waiting {
  /** How many are to come before its time is over. */
  ticks: number;
  readonly expired: (error: TreadleError) => void;
  /** What each connection had received at half of its time. */
  received: ReadonlyMap<Socket, number>;
}

function answered<Value>(deadline: Deadline, work: () => PromiseLike<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = deadline.begin(reject);
    const failed = (error: unknown): void => {
      cancel();
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- it is passed on as it is.
      reject(error);
    };
    try {
      work().then((value) => {
        cancel();
        resolve(value);
      }, failed);
    } catch (thrown) {
      // What could not even be asked must not be waited for: at its deadline connections would be given up.
      failed(thrown);
    }
  });
}

/** Runs a transaction. */
export type Begin = (work: (transaction: postgres.TransactionSql) => Promise<unknown>) => Promise<unknown>;

/** The same client, each of whose statements has a deadline; its transactions run as `transact` does it. */
export function withDeadlines<Client extends postgres.ISql>(
  client: Client,
  deadline: Deadline,
  transact?: Begin,
): Client {
  /** Nothing is sent until somebody waits for it, so a part of another statement has no deadline. */
  const timed = (made: unknown): unknown => {
    if (!(made instanceof Promise)) return made;
    const answer = made.then.bind(made);
    const then: typeof made.then = (onAnswer, onError) => answered(deadline, answer).then(onAnswer, onError);
    // oxlint-disable-next-line unicorn/no-thenable -- it is a promise already: its own `then` gets a deadline.
    return Object.assign(made, { then });
  };
  return new Proxy(client, {
    apply: (target, self, values: unknown[]) => timed(Reflect.apply(target, self, values)),
    get(target, key) {
      if (key === 'unsafe') {
        return (...values: Parameters<postgres.ISql['unsafe']>) => timed(target.unsafe(...values));
      }
      if (key === 'begin' && transact) return transact;
      return Reflect.get(target, key) as unknown;
    },
  });
}

/**
 * A transaction has one deadline, which begins anew with each step of it. Nothing more is sent when its connection is gone:
 * the client would write to a socket that isn't there, which ends the process. It sends ROLLBACK for work that fails, so
 * such work is left unfinished instead.
 */
export function begin(
  client: postgres.Sql,
  deadline: Deadline,
  work: (transaction: postgres.TransactionSql) => Promise<unknown>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let cancel = (): void => {};
    const end = (settle: (outcome: unknown) => void, outcome: unknown): void => {
      isOver = true;
      cancel();
      settle(outcome);
    };
    const fail = (error: unknown): void => end(reject, error);
    const step = (): void => {
      cancel();
      if (!isOver) cancel = deadline.begin(fail);
    };
    const steps: Deadline = {
      begin() {
        step();
        return step;
      },
    };
    const working = (transaction: postgres.TransactionSql): Promise<unknown> =>
      new Promise((done, rollBack) => {
        work(withDeadlines(transaction, steps)).then(done, (error: unknown) => {
          const settle = isOver || isOutage(error) ? fail : rollBack;
          settle(error);
        });
      });
    step();
    client.begin(working).then((value) => end(resolve, value), fail);
  });
}
