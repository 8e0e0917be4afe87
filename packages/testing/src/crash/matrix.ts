import { isDeepStrictEqual } from 'node:util';
import { type DurableEvent, type Journal, errorText } from '@treadle/core';
import { logOf } from '../log.ts';
import { chanceOf } from '../chance.ts';
import { checkLog } from './check-log.ts';
import { startLife, type CrashLife, type CrashWorld } from './life.ts';
import { dismissSpares, liveInProcess, type CrashProcess } from './process.ts';

/** One course of a scenario: a fresh store, and a fresh world around it, that processes live and die in. */
export interface CrashCourse {
  readonly sessionId: string;
  /** Opens the store, for one process. */
  open(): Promise<Journal>;
  /**
   * What a process does: creates the session or opens the one there is, answers what is asked, and goes on to the end.
   * Rejects when its process dies.
   */
  live(life: CrashLife): Promise<void>;
  /** What came of it, or a promise of it: must be the same however often a process died. Throws when it is wrong. */
  outcome(log: readonly DurableEvent[], deaths: number): unknown;
  /** Whether there is nothing left to do. Until then, another process lives. Default: when one wasn't killed. */
  isOver?(log: readonly DurableEvent[]): boolean;
  /** What the processes can ask, by `ask`: what is outside and outlives them. */
  readonly world?: CrashWorld;
  /** A program for the lives that end by a death, killed by SIGKILL; without it they are lived, and die, in this process. */
  readonly process?: CrashProcess;
  dispose?(): Promise<void>;
}

/** Options of {@link crashMatrix}. */
export interface CrashOptions {
  /** Which of the moments to die at, counted from 0. Default: all of them. */
  readonly moments?: (moment: number, all: number) => boolean;
  /** How often a process dies in one course. The second death comes somewhere in the second life. Default 1. */
  readonly deaths?: 1 | 2;
}

/** The result of {@link crashMatrix}. */
export interface CrashReport {
  /** Every moment of the course that nobody died in. */
  readonly moments: readonly string[];
  /** Courses that were ended by a death and brought to their end by another process. */
  readonly courses: number;
  /** Events that were acknowledged before a death: each of them was found again. */
  readonly acknowledged: number;
}

/** Milliseconds after which a process that is dead, or has nothing to wait for, counts as hanging. */
const PATIENCE_MS = 60_000;

/**
 * Kills a process at each moment of a scenario, lets another go on, and checks what comes of it: nothing that was
 * acknowledged is lost, each run has one end, each call one result, nothing is decided or said twice, and the outcome is
 * that of the course without a death. A moment is each journal write, before and after it is durable, and whatever the
 * scenario names by `pass` and `effect`. With a `process` of the course these are deaths by SIGKILL.
 *
 * @throws Error that lists the moments after which something was wrong.
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal, openSession } from '@treadle/core';
 * import { crashMatrix, scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(() => 'Hello.') });
 * const report = await crashMatrix(() => {
 *   const journal = memoryJournal();
 *   return {
 *     sessionId: 's1',
 *     open: async () => journal,
 *     async live({ journal, clock, ids }) {
 *       const { sessions } = await journal.list();
 *       const options = { journal, clock, ids };
 *       const session = await (sessions.length > 0
 *         ? openSession(agent, 's1', options)
 *         : createSession(agent, { ...options, id: 's1' }));
 *       if (session.status !== 'idle') await session.resume().result;
 *       else if (session.messages.length === 0) await session.prompt('Hi').result;
 *     },
 *     outcome: (log) => log.filter(({ type }) => type === 'run_ended').length,
 *   };
 * });
 * console.log(report.courses === report.moments.length); // true
 * ```
 */
export async function crashMatrix(
  scenario: () => CrashCourse | Promise<CrashCourse>,
  { moments: chosen = () => true, deaths = 1 }: CrashOptions = {},
): Promise<CrashReport> {
  const whole = await play(await scenario(), () => null);
  const all = whole.lives[0] ?? [];
  const problems: string[] = [];
  let courses = 0;
  let acknowledged = 0;
  for (let moment = 0; moment < all.length; moment++) {
    if (!chosen(moment, all.length)) continue;
    const second = deaths === 2 ? (moment * 7) % (all.length - moment + 5) : null;
    try {
      const played = await play(await scenario(), (life) => (life === 1 ? moment : life === 2 ? second : null));
      // On a real disk what is written together differs from course to course: this one may have been over before.
      if (played.deaths > 0) {
        courses += 1;
        acknowledged += played.acknowledged;
      }
      checkOutcome(played, whole);
    } catch (error) {
      problems.push(`${moment} (${all[moment]}${second === null ? '' : `, then ${second}`}): ${errorText(error)}`);
    }
  }
  await dismissSpares();
  if (problems.length > 0) {
    throw new Error(`${problems.length} of ${all.length} deaths went wrong:\n${problems.join('\n')}`);
  }
  return { moments: all, courses, acknowledged };
}

/** Options of {@link crashAtRandom}. */
export interface RandomCrashOptions {
  /** How many courses to play. */
  readonly courses: number;
  /** What decides when processes die. Default 1. */
  readonly seed?: number;
  /** Processes die at the latest at this moment of their life, counted from 0. Default 60. */
  readonly latest?: number;
}

/** The result of {@link crashAtRandom}. */
export interface RandomCrashReport {
  readonly courses: number;
  /** Processes that were killed, and all that lived. */
  readonly deaths: number;
  readonly lives: number;
  /** Events that were acknowledged before the last death of a course: each of them was found again. */
  readonly acknowledged: number;
}

/** Deaths in one course, after which its processes are let live. */
const MOST_DEATHS = 12;

/**
 * Plays a scenario again and again, and kills about every second process at a random moment of its life, the next one
 * included. Checks what `crashMatrix` checks.
 */
export async function crashAtRandom(
  scenario: () => CrashCourse | Promise<CrashCourse>,
  { courses, seed = 1, latest = 60 }: RandomCrashOptions,
): Promise<RandomCrashReport> {
  const chance = chanceOf(seed);
  const whole = await play(await scenario(), () => null);
  let deaths = 0;
  let lives = 0;
  let acknowledged = 0;
  try {
    for (let number = 1; number <= courses; number++) {
      const course = await scenario();
      const forever = course.process ? Number.POSITIVE_INFINITY : null;
      const played = await play(course, (life) => (life > MOST_DEATHS ? forever : Math.floor(chance() * latest)));
      deaths += played.deaths;
      lives += played.lives.length;
      acknowledged += played.acknowledged;
      checkOutcome(played, whole);
    }
  } finally {
    await dismissSpares();
  }
  return { courses, deaths, lives, acknowledged };
}

function checkOutcome(played: Played, whole: Played): void {
  if (isDeepStrictEqual(played.outcome, whole.outcome)) return;
  throw new Error(`the outcome is ${JSON.stringify(played.outcome)}, not ${JSON.stringify(whole.outcome)}`);
}

interface Played {
  /** What each life has passed. */
  readonly lives: readonly (readonly string[])[];
  readonly outcome: unknown;
  readonly deaths: number;
  /** Events that were acknowledged before the last death. */
  readonly acknowledged: number;
}

/** Plays one course, with a death at the given moment of a life, if it comes to it. Null is for those that live here. */
async function play(course: CrashCourse, deathOf: (life: number) => number | null): Promise<Played> {
  const acknowledged = new Map<number, DurableEvent>();
  const others = new Map<string, Map<number, DurableEvent>>();
  const lives: (readonly string[])[] = [];
  try {
    let before = 0;
    let deaths = 0;
    for (let number = 1; ; number++) {
      const deathAt = deathOf(number);
      const ended = await (deathAt !== null && course.process
        ? livedElsewhere(course, course.process, number, deathAt, acknowledged)
        : livedHere(course, number, deathAt, { acknowledged, others }));
      lives.push(ended.passed);
      if (ended.isDead) {
        before = acknowledged.size;
        deaths += 1;
        continue;
      }
      const journal = ended.journal ?? (await course.open());
      const log = await logOf(journal, course.sessionId);
      if (course.isOver?.(log) === false) {
        if (number > MOST_LIVES) throw new Error(`after ${number} processes there is still something to do`);
        continue;
      }
      checkLog(log, acknowledged);
      // The sessions that it has started hold to the same.
      for (const [id, events] of others) checkLog(await logOf(journal, id), events);
      return { lives, deaths, outcome: await course.outcome(log, deaths), acknowledged: before };
    }
  } finally {
    await course.dispose?.();
  }
}

/** Processes in one course, which then gets nowhere. */
const MOST_LIVES = 100;

interface Ended {
  readonly passed: readonly string[];
  readonly isDead: boolean;
  readonly journal?: Journal;
}

async function livedHere(
  course: CrashCourse,
  number: number,
  deathAt: number | null,
  known: Pick<Parameters<typeof startLife>[0], 'acknowledged' | 'others'>,
): Promise<Ended> {
  const journal = await course.open();
  const { sessionId, world = {} } = course;
  const started = startLife({ number, journal, deathAt, sessionId, ...known, world });
  const failure = await settled(course.live(started.life), started.gone);
  await started.bury();
  const dead = started.isDead;
  if (dead && failure === HANGS) throw new Error('the process hangs when its journal fails');
  if (!dead && failure !== null) throw failure instanceof Error ? failure : new Error(errorText(failure));
  return { passed: started.passed, isDead: dead, journal };
}

async function livedElsewhere(
  course: CrashCourse,
  process: CrashProcess,
  number: number,
  deathAt: number,
  acknowledged: Map<number, DurableEvent>,
): Promise<Ended> {
  const world = course.world ?? {};
  const life = await liveInProcess({ ...process, number, deathAt, acknowledged, world, patienceMs: PATIENCE_MS });
  if (life.failure !== null) throw new Error(life.failure);
  return life;
}

const HANGS = new Error('the process hangs');

/** What the work failed with; null when it ended well. */
async function settled(work: Promise<void>, gone: Promise<void>): Promise<unknown> {
  const { promise: late, resolve } = Promise.withResolvers<unknown>();
  const timer = setTimeout(resolve, PATIENCE_MS, HANGS);
  const failure = await Promise.race([
    work.then(() => null).catch((error: unknown) => error),
    gone.then(() => null),
    late,
  ]);
  clearTimeout(timer);
  return failure;
}
