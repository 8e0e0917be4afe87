import { type Clock, type DurableEvent, type Journal, TreadleError } from '@treadle/core';
import type { Claim } from '@treadle/core/journal';
import type { Ids } from '@treadle/core/ports';
import { testClock } from '../clock.ts';
import { countingIds } from '../ids.ts';

/**
 * A process as a scenario sees it: what it has of the world, until it dies. Once dead it writes nothing more, and does
 * nothing more that `effect` stands around.
 */
export interface CrashLife {
  /** From 1. */
  readonly number: number;
  readonly journal: Journal;
  readonly clock: Clock;
  /** Ids that no other life makes. */
  readonly ids: Ids;
  /** A moment at which the process may die. What waits for it then waits for ever. */
  pass(name: string): Promise<void>;
  /** Something that is done to the world: the process may die before it and after it. */
  effect<Value>(name: string, act: () => Value | PromiseLike<Value>): Promise<Value>;
  /** Asks the world outside, which outlives this process: `world` of its course. What it sends and gets is JSON. */
  ask(name: string, ...args: readonly unknown[]): Promise<unknown>;
  /** The events that this life and those before it were told are written, by their place in the log. */
  readonly acknowledged: ReadonlyMap<number, DurableEvent>;
}

/** What outlives the processes of a course, by the names they ask for it by. */
export type CrashWorld = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Asks a world as a process of another program does: what is sent and what is given back are copies. */
export async function askWorld(world: CrashWorld, name: string, args: readonly unknown[]): Promise<unknown> {
  const act = world[name];
  if (!act) throw new Error(`The world of this course has no "${name}".`);
  return copied(await act(...(copied(args) as never[])));
}

const copied = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);

/** A life with what its maker needs to end it. */
export interface StartedLife {
  readonly life: CrashLife;
  /** What it has passed, in order: each entry is a moment to die at. */
  readonly passed: readonly string[];
  readonly isDead: boolean;
  /** Resolves when it died amid something else than a write: then nothing of it goes on that anyone could wait for. */
  readonly gone: Promise<void>;
  /** Waits for what was being written when it died, and lets go of what the operating system would have let go of. */
  bury(): Promise<void>;
}

const died = (): TreadleError => new TreadleError('journal_failed', 'The process is dead.');

/** Starts a process that dies at its `deathAt`-th moment, from 0; null for one that lives to the end. */
export function startLife(options: {
  readonly number: number;
  readonly journal: Journal;
  readonly deathAt: number | null;
  readonly sessionId: string;
  /** Of the course's session. */
  readonly acknowledged: Map<number, DurableEvent>;
  /** Of the sessions that it has started. */
  readonly others: Map<string, Map<number, DurableEvent>>;
  readonly world: CrashWorld;
}): StartedLife {
  const { number, journal, deathAt, acknowledged, others, world } = options;
  const passed: string[] = [];
  const claims = new Set<Claim>();
  const unwatch = new Set<() => void>();
  const writing = new Set<Promise<unknown>>();
  const gone = Promise.withResolvers<void>();
  let dead = false;

  /** Whether this is the moment. A journal that its process outlives, fails from then on. */
  function dies(name: string): boolean {
    if (dead) throw died();
    dead = passed.length === deathAt;
    passed.push(name);
    if (dead) for (const stop of unwatch) stop();
    return dead;
  }

  async function pass(name: string): Promise<void> {
    if (!dies(name)) return;
    gone.resolve();
    await new Promise<never>(() => {});
  }

  /** A write: the process may die before it is durable, and after it is but before anyone is told. */
  async function write<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
    if (dies(`before ${name}`)) throw died();
    const done = work();
    const settled = done.catch(() => {});
    writing.add(settled);
    const value = await done.finally(() => writing.delete(settled));
    if (dies(`after ${name}`)) throw died();
    return value;
  }

  const watched = watchedJournal(journal, write, (event, sessionId) => {
    const known =
      sessionId === options.sessionId ? acknowledged : (others.get(sessionId) ?? new Map<number, DurableEvent>());
    if (known !== acknowledged) others.set(sessionId, known);
    known.set(event.seq, event);
  });
  const mortal: Journal = {
    ...watched,
    async claim(sessionId, owner) {
      if (dead) throw died();
      const claim = await journal.claim(sessionId, owner);
      claims.add(claim);
      return {
        ...claim,
        renew: async () => !dead && claim.renew(),
        async release() {
          if (dead) return;
          claims.delete(claim);
          await claim.release();
        },
      };
    },
    async *read(sessionId, from) {
      for await (const event of journal.read(sessionId, from)) {
        if (dead) throw died();
        yield event;
      }
    },
    watch(sessionId, changed) {
      const stop = journal.watch(sessionId, (seq) => {
        if (!dead) changed(seq);
      });
      unwatch.add(stop);
      return () => {
        unwatch.delete(stop);
        stop();
      };
    },
  };

  return {
    passed,
    get isDead() {
      return dead;
    },
    gone: gone.promise,
    async bury() {
      while (writing.size > 0) await Promise.all(writing);
      await Promise.all([...claims].map((claim) => claim.release()));
    },
    life: {
      number,
      journal: mortal,
      acknowledged,
      ...ownOf(number),
      pass,
      async effect(name, act) {
        await pass(`before ${name}`);
        const value = await act();
        await pass(`after ${name}`);
        return value;
      },
      ask: (name, ...args) => askWorld(world, name, args),
    },
  };
}

/** The clock of a process, and ids that no other one makes. */
export function ownOf(number: number): Pick<CrashLife, 'clock' | 'ids'> {
  const ids = countingIds();
  return {
    clock: testClock(Date.UTC(2025, 0, number)),
    ids: { create: (prefix) => ids.create(`${prefix}_${number}`) },
  };
}

/** Runs a write between the two moments around it. */
type Write = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>;

/** A journal whose writes are moments, and that says what was acknowledged. */
export function watchedJournal(
  journal: Journal,
  write: Write,
  acknowledge: (event: DurableEvent, sessionId: string) => unknown,
): Journal {
  return {
    ...journal,
    async create(sessionId, first, fork) {
      await write('session_created', async () => journal.create(sessionId, first, fork));
      if (!fork) acknowledge({ ...first, seq: 1 }, sessionId);
    },
    async append(sessionId, epoch, expectedSeq, events) {
      const name = events.map(({ type }) => type).join(', ');
      const outcome = await write(name, () => journal.append(sessionId, epoch, expectedSeq, events));
      if (outcome.ok) for (const event of outcome.events) acknowledge(event, sessionId);
      return outcome;
    },
    async post(sessionId, input, key, at) {
      const outcome = await write(`input ${input.type}`, () => journal.post(sessionId, input, key, at));
      if (!outcome.duplicate) acknowledge({ type: 'input_received', at, key, input, seq: outcome.seq }, sessionId);
      return outcome;
    },
  };
}
