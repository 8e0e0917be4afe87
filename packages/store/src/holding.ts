import type { Clock } from '@treadle/core';
import { journalErrors, type Claim, type Rest } from '@treadle/core/journal';

/** A claim as the journal that took it remembers it. */
export interface TakenClaim {
  readonly epoch: number;
  /** The last number of the log when it was taken. */
  readonly seq: number;
}

/** How a journal keeps and ends the claims of its process. */
export interface HoldingOptions<Taken extends TakenClaim> {
  readonly clock: Clock;
  /** Milliseconds for which nobody may take what this process holds, after it was last heard of. */
  readonly leaseMs: number;
  /** Says that this process lives, and holds these until `until`. Returns those that somebody else has taken. */
  readonly renew: (held: readonly Taken[], until: number) => Promise<readonly Taken[]>;
  readonly release: (taken: Taken, rest: Rest | undefined) => Promise<void>;
  /**
   * Called when this process has lost all it held, because it was not heard of for a lease. Where claims live by their process
   * it must go on as another one: as itself it would seem to hold them still, and nobody would ever go on with them.
   */
  readonly lapsed?: () => void;
}

/** The claims that a journal holds, kept alive together while there are any. */
export interface Holding<Taken extends TakenClaim> {
  readonly held: ReadonlyMap<string, Taken>;
  /** Whether this process has a session, or has more than `asking` claims of it under way. */
  has(sessionId: string, asking: number): boolean;
  /** All that it has, or is about to. */
  all(): readonly string[];
  /** Takes a session by `take`, and keeps it. */
  claim(sessionId: string, take: () => Promise<Taken>): Promise<Claim>;
  /** @throws TreadleError `fenced` where this process was not heard of for a lease: others may have the session. */
  check(sessionId: string, epoch: number): void;
  /** Renews now what is held: after a connection was lost by which the others see this process. */
  beat(): Promise<void>;
  /** Lets go of all of them. Never throws: what can't be released lapses by itself. */
  close(): Promise<void>;
}

/** Of a lease, so that two renewals may fail or come late. */
const RENEWALS = 4;

/**
 * One renewal serves all sessions of a process. Whoever was not heard of for a lease, as after a stop of the whole process,
 * knows it by the clock: it writes nothing more under the claims it had.
 */
export function createHolding<Taken extends TakenClaim>(options: HoldingOptions<Taken>): Holding<Taken> {
  const { clock, leaseMs } = options;
  const held = new Map<string, Taken>();
  /** The highest epoch of each session that this process may not write under any more. */
  const ended = new Map<string, number>();
  /** Claims that could not be let go yet, as while the server is down. */
  const left = new Map<Taken, Rest | undefined>();
  /** How many claims of a session are under way. */
  const taking = new Map<string, number>();
  let until = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | null = null;
  let closed = false;

  function lose(takens: readonly Taken[]): void {
    const all = new Set(takens);
    for (const [sessionId, taken] of held) {
      if (!all.has(taken)) continue;
      held.delete(sessionId);
      ended.set(sessionId, taken.epoch);
    }
  }

  function loseLapsed(): void {
    if (held.size === 0 || clock.now() < until) return;
    lose([...held.values()]);
    options.lapsed?.();
  }

  function schedule(): void {
    if (cancel || closed || held.size + left.size === 0) return;
    cancel = clock.after(leaseMs / RENEWALS, () => void beat(), { background: true });
  }

  async function beat(): Promise<void> {
    cancel?.();
    cancel = null;
    loseLapsed();
    // Counted from before it is asked for: nobody else may count less.
    const at = clock.now();
    try {
      if (held.size > 0) {
        lose(await options.renew([...held.values()], at + leaseMs));
        until = at + leaseMs;
      }
      for (const [taken, rest] of left) {
        await options.release(taken, rest);
        left.delete(taken);
      }
    } catch {
      // The next beat may succeed; without one in time the claims are lost.
    }
    schedule();
  }

  async function counted(sessionId: string, take: () => Promise<Taken>): Promise<Taken> {
    const count = (by: number): void => {
      const now = (taking.get(sessionId) ?? 0) + by;
      if (now > 0) taking.set(sessionId, now);
      else taking.delete(sessionId);
    };
    count(1);
    return take().finally(() => count(-1));
  }

  async function release(sessionId: string, taken: Taken, rest: Rest | undefined): Promise<void> {
    if (closed || held.get(sessionId) !== taken) return;
    held.delete(sessionId);
    try {
      await options.release(taken, rest);
    } catch {
      left.set(taken, rest);
      schedule();
    }
  }

  return {
    held,
    has: (sessionId, asking) => held.has(sessionId) || (taking.get(sessionId) ?? 0) > asking,
    all: () => [...held.keys(), ...taking.keys()],
    async claim(sessionId, take) {
      // What lapsed is nothing to be renewed with it.
      loseLapsed();
      const at = clock.now();
      const taken = await counted(sessionId, take);
      if (held.size === 0) until = at + leaseMs;
      held.set(sessionId, taken);
      ended.delete(sessionId);
      schedule();
      return {
        sessionId,
        epoch: taken.epoch,
        seq: taken.seq,
        leaseMs,
        async renew() {
          loseLapsed();
          return held.get(sessionId) === taken;
        },
        release: (rest) => release(sessionId, taken, rest),
      };
    },
    check(sessionId, epoch) {
      loseLapsed();
      if (epoch <= (ended.get(sessionId) ?? 0))
        throw journalErrors.fenced(sessionId, epoch, `its process was not heard of for ${leaseMs} ms`);
    },
    beat,
    async close() {
      await Promise.all([...held].map(([sessionId, taken]) => release(sessionId, taken, undefined)));
      closed = true;
      cancel?.();
      held.clear();
    },
  };
}
