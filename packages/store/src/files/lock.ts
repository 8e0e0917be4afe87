import { systemClock, TreadleError, type Clock } from '@treadle/core';
import { parseJson } from '@treadle/core/json';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemProcesses, type ProcessIdentity, type ProcessTable } from '../processes.ts';
import { systemFiles, type JournalFileSystem } from './file-system.ts';

const LOCK = 'lock.';
const WANT = 'want.';

export interface LockOptions {
  readonly fs: JournalFileSystem;
  readonly clock: Clock;
  readonly processes: ProcessTable;
  /** Milliseconds to keep trying while another process holds it. */
  readonly timeoutMs: number;
}

/** A folder that is ours until it is let go. */
export interface Lock {
  /** Whether another process waits for it. */
  isWanted(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Waits until no other process has this folder. Each contender puts down a file with its process's identity and then
 * looks for others: whoever sees a living one takes its own away and tries again, so two never go ahead together. Who
 * waits leaves another file meanwhile, so that whoever has the folder for long lets it go. Files of dead processes are
 * swept away.
 *
 * @param hasYielded whoever has just let the folder go for others is the last to try again.
 * @throws TreadleError `journal_failed` when others hold it for longer than `timeoutMs`.
 */
export async function acquireLock(folder: string, options: LockOptions, hasYielded: boolean): Promise<Lock> {
  const { fs, clock, processes, timeoutMs } = options;
  const deadline = clock.now() + timeoutMs;
  const id = randomUUID();
  const [own, want] = [`${LOCK}${id}`, `${WANT}${id}`];
  const identity = JSON.stringify(processes.self());
  const putDown = (name: string): Promise<void> =>
    fs.writeFile(join(folder, name), identity, { flag: 'wx', mode: 0o600 });
  // One that can't be taken away is swept away when this process is dead.
  const takeAway = (name: string): Promise<void> => fs.unlink(join(folder, name)).catch(() => {});
  const others = (prefix: string): Promise<boolean> => hasLivingOther(fs, folder, prefix, id, processes);
  let waits = false;
  try {
    for (let attempt = 0; ; attempt += 1) {
      if (attempt > 0 || (hasYielded && (await others(WANT)))) await wait(clock, backoff(attempt, hasYielded));
      await putDown(own);
      if (!(await others(LOCK))) break;
      await fs.unlink(join(folder, own));
      if (clock.now() >= deadline) {
        const message = `The folder ${folder} has been locked by another process for too long.`;
        throw new TreadleError('journal_failed', message);
      }
      if (!waits) await putDown(want);
      waits = true;
    }
  } finally {
    if (waits) await takeAway(want);
  }
  return { isWanted: () => others(WANT), release: () => takeAway(own) };
}

/**
 * Runs `work` while no other process of this machine runs its own for the same folder: for files that are read, changed and
 * written back, such as settings. A process that died holds nobody up.
 *
 * @throws TreadleError `journal_failed` when others hold it for longer than 10 seconds.
 */
export async function withFolderLock<Value>(folder: string, work: () => Promise<Value>): Promise<Value> {
  const options = { fs: systemFiles, clock: systemClock, processes: systemProcesses, timeoutMs: 10_000 };
  const lock = await acquireLock(folder, options, false);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** Milliseconds, spread, so that two who met don't meet again and again. */
const backoff = (attempt: number, hasYielded: boolean): number =>
  Math.ceil((1 + Math.random()) * (hasYielded ? 12 : Math.min(6, 2 ** Math.min(attempt, 3))));

const wait = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

async function hasLivingOther(
  fs: JournalFileSystem,
  folder: string,
  prefix: string,
  id: string,
  processes: ProcessTable,
): Promise<boolean> {
  const others = (await fs.readdir(folder)).filter((name) => name.startsWith(prefix) && name !== `${prefix}${id}`);
  for (const name of others) {
    const path = join(folder, name);
    const identity = await identityIn(fs, path);
    if (identity === null ? !(await isAbandoned(fs, path)) : !processes.isGone(identity)) return true;
    await fs.unlink(path).catch(() => {});
  }
  return false;
}

/** Milliseconds after which a file that names nobody was left by a process that died while it wrote the name. */
const ABANDONED_MS = 10_000;

async function isAbandoned(fs: JournalFileSystem, path: string): Promise<boolean> {
  try {
    return Date.now() - (await fs.stat(path)).mtimeMs > ABANDONED_MS;
  } catch {
    // Gone in between: the next look tells.
    return false;
  }
}

async function identityIn(fs: JournalFileSystem, path: string): Promise<ProcessIdentity | null> {
  try {
    return parseJson(await fs.readFile(path, 'utf8')) as ProcessIdentity;
  } catch {
    return null;
  }
}
