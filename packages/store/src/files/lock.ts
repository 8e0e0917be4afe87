import type { Clock } from '@treadle/core';
import { TreadleError } from '@treadle/core';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ProcessIdentity, ProcessTable } from '../processes.ts';
import type { JournalFileSystem } from './file-system.ts';

const PREFIX = 'lock.';

export interface LockOptions {
  readonly fs: JournalFileSystem;
  readonly clock: Clock;
  readonly processes: ProcessTable;
  /** Milliseconds to keep trying while another process holds it. */
  readonly timeoutMs: number;
}

/**
 * Runs `work` while no other process runs its own in this folder. Each contender puts down a file with its process's
 * identity and then looks for others: whoever sees a living one takes its own away and tries again, so two never go
 * ahead together. A file of a dead process is swept away.
 *
 * @throws TreadleError `journal_failed` when others hold it for longer than `timeoutMs`.
 */
export async function withLock<Value>(
  folder: string,
  options: LockOptions,
  work: () => Promise<Value>,
): Promise<Value> {
  const { fs, clock, processes, timeoutMs } = options;
  const deadline = clock.now() + timeoutMs;
  const own = `${PREFIX}${randomUUID()}`;
  const identity = JSON.stringify(processes.self());
  for (let attempt = 0; ; attempt += 1) {
    await fs.writeFile(join(folder, own), identity, { flag: 'wx', mode: 0o600 });
    if (!(await hasLivingOther(fs, folder, own, processes))) break;
    await fs.unlink(join(folder, own));
    if (clock.now() >= deadline) {
      throw new TreadleError(
        'journal_failed',
        `The journal ${folder} has been locked by another process for too long.`,
      );
    }
    await wait(clock, backoff(attempt));
  }
  try {
    return await work();
  } finally {
    // One that can't be taken away is swept away when this process is dead.
    await fs.unlink(join(folder, own)).catch(() => {});
  }
}

/** Spread, so that two who met don't meet again and again. */
const backoff = (attempt: number): number => Math.ceil((1 + Math.random()) * Math.min(50, 2 ** Math.min(attempt, 6)));

const wait = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

async function hasLivingOther(
  fs: JournalFileSystem,
  folder: string,
  own: string,
  processes: ProcessTable,
): Promise<boolean> {
  const others = (await fs.readdir(folder)).filter((name) => name.startsWith(PREFIX) && name !== own);
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
    return JSON.parse(await fs.readFile(path, 'utf8')) as ProcessIdentity;
  } catch {
    return null;
  }
}
