import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { errnoOf } from '../root/problem.ts';

/** A group of processes whose number the kernel limits. */
export interface ProcessGroup {
  /** Whoever writes into this file becomes a member, and so does all it starts. */
  readonly joinFile: string;
  remove(): Promise<void>;
}

/** The prefix of the names of our groups; the process that made one follows. */
const prefix = 'treadle-';
let groups = 0;

/**
 * Makes a control group that holds at most `limit` processes, below the one that this process is in. Undefined where that
 * isn't possible: the system has no such groups, or leaves making them to others.
 */
export async function makeProcessGroup(limit: number): Promise<ProcessGroup | undefined> {
  groups += 1;
  const name = `${prefix}${process.pid}-${groups}`;
  for (const parent of await parents()) {
    const folder = join(parent, name);
    try {
      await removeAbandoned(parent);
      await mkdir(folder);
    } catch {
      continue;
    }
    const remove = (): Promise<void> => removeGroup(folder);
    try {
      await writeFile(join(folder, 'pids.max'), String(limit), { flag: 'r+' });
      return { joinFile: join(folder, 'cgroup.procs'), remove };
    } catch {
      await remove();
    }
  }
  return undefined;
}

/** Where groups with a limit on processes may be made: in the first version of control groups, and in the second. */
async function parents(): Promise<string[]> {
  const [mounts, memberships] = await Promise.all([readLines('/proc/self/mountinfo'), readLines('/proc/self/cgroup')]);
  const found: string[] = [];
  for (const line of mounts) {
    const [before = '', after = ''] = line.split(' - ');
    const mountPoint = before.split(' ')[4] ?? '';
    const [type, , options = ''] = after.split(' ');
    const isFirst = type === 'cgroup' && options.split(',').includes('pids');
    if (!isFirst && type !== 'cgroup2') continue;
    const membership = memberships.find((one) =>
      isFirst ? (one.split(':')[1] ?? '').split(',').includes('pids') : one.startsWith('0::'),
    );
    const own = join(mountPoint, membership?.split(':').slice(2).join(':') ?? '/');
    // In a container the path may be that outside of it.
    const parent = (await isFolder(own)) ? own : mountPoint;
    if (type === 'cgroup2')
      await writeFile(join(parent, 'cgroup.subtree_control'), '+pids', { flag: 'r+' }).catch(() => {});
    found.push(parent);
  }
  return found;
}

const removals = 20;
const betweenRemovalsMs = 5;

/** A group is empty only a moment after its last process has ended. What can't be removed is removed by a later process. */
async function removeGroup(folder: string): Promise<void> {
  for (let tries = 0; tries < removals; tries += 1) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if (errnoOf(error) !== 'EBUSY') return;
    }
    await setTimeout(betweenRemovalsMs);
  }
}

/** What a process that was killed had left. Groups with members can't be removed, so nobody loses theirs. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const owner = new RegExp(`^${prefix}(\\d+)-\\d+$`).exec(name)?.[1];
    if (owner !== undefined && !(await isFolder(`/proc/${owner}`))) await rmdir(join(parent, name)).catch(() => {});
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

async function readLines(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
}
