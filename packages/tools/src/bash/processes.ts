import { readlinkSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { errnoOf } from '../root/problem.ts';

/** Names one command to the processes it starts: inherited by all of them, whatever group or session they move to. */
export const tagVariable = 'TREADLE_COMMAND_ID';

/** Finds and signals the processes that belong to one command. */
export interface ProcessTree {
  /** Sends `signal` to all of them; returns how many were found alive. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): Promise<number>;
  /** How many are alive. */
  count(): Promise<number>;
}

/** What tells that a process belongs to a command. */
export interface ProcessMarks {
  /** The command's first process, which leads a session and a process group. */
  readonly leader: number;
  /** Part of the value of `tagVariable`. */
  readonly tag: string;
  /** The command's output sockets, as `/proc` names them: whoever holds one is one of its processes. */
  readonly outputs: () => ReadonlySet<string>;
  /**
   * True when the leader and its like only keep others in a namespace of processes, and end when those do. They are killed,
   * but not asked to end: that would kill the others before they were asked.
   */
  readonly keepers?: boolean;
}

/**
 * The processes of a command: its process group and, where `/proc` exists, every process that is in its session, has
 * its tag in the environment, holds one of its outputs, or descends from one of these. A daemon that left the session,
 * cleared its environment, closed its outputs and lost its parent can't be found.
 */
export function processTree(marks: ProcessMarks): ProcessTree {
  const { leader } = marks;
  return {
    async signal(signal) {
      const politely = marks.keepers === true && signal === 'SIGTERM';
      // The group first, and in one call: its members can't multiply in between.
      const group = !politely && kill(-leader, signal);
      const members = await findMembers(marks);
      if (members === undefined) return group ? 1 : 0;
      const own = politely ? await namespaceDepth('self') : 0;
      for (const pid of members) if (!politely || (await namespaceDepth(pid)) > own) kill(pid, signal);
      return members.length;
    },
    async count() {
      const members = await findMembers(marks);
      return members?.length ?? (kill(-leader, 0) ? 1 : 0);
    },
  };
}

function kill(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // Gone already, or (a set-uid program) not ours to signal.
    if (errnoOf(error) === 'ESRCH' || errnoOf(error) === 'EPERM') return false;
    throw error;
  }
}

/** In how many namespaces a process has a number, as far as this process sees. */
async function namespaceDepth(pid: number | 'self'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.trim().split(/\s+/).length ?? 0;
}

interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly member: boolean;
}

/** How often the processes are listed again at most, while some of a list have ended before they were read. */
const MOST_LISTS = 5;

/** A process that ends while the list is read may have left a child that isn't in it. */
async function findMembers(marks: ProcessMarks): Promise<number[] | undefined> {
  let found: Listed | undefined;
  for (let list = 0; list < MOST_LISTS; list += 1) {
    found = await listMembers(marks);
    if (found?.isStale !== true) break;
  }
  return found?.members;
}

interface Listed {
  readonly members: number[];
  /** Some process of the list had ended before it was read. */
  readonly isStale: boolean;
}

async function listMembers(marks: ProcessMarks): Promise<Listed | undefined> {
  let names: string[];
  try {
    names = await readdir('/proc');
  } catch {
    return undefined;
  }
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  if (pids.length === 0) return undefined;
  const outputs = marks.outputs();
  const found = await Promise.all(pids.filter((pid) => pid !== process.pid).map((pid) => factsOf(pid, marks, outputs)));
  const processes = found.filter((facts) => facts !== null && facts !== undefined);
  const members = new Set(processes.filter((facts) => facts.member).map((facts) => facts.pid));
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const { pid, parent } of processes) if (members.has(parent)) members.add(pid);
  }
  return { members: [...members], isStale: found.includes(null) };
}

/** Null when it has ended since it was listed; undefined when it is about to be reaped. */
async function factsOf(
  pid: number,
  marks: ProcessMarks,
  outputs: ReadonlySet<string>,
): Promise<ProcessFacts | null | undefined> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name in parentheses may itself contain parentheses and spaces.
  const [state, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  const inSession = Number(group) === marks.leader || Number(session) === marks.leader;
  const member = inSession || (await hasTag(pid, marks.tag)) || (await holds(pid, outputs));
  return { pid, parent: Number(parent), member };
}

async function hasTag(pid: number, tag: string): Promise<boolean> {
  try {
    let environment = await readFile(`/proc/${pid}/environ`);
    // A process has no environment for a moment while another program takes its place.
    for (let again = 0; environment.length === 0 && again < 3; again += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      environment = await readFile(`/proc/${pid}/environ`);
    }
    return environment.includes(tag);
  } catch {
    // Another user's process, or one that is gone.
    return false;
  }
}

async function holds(pid: number, outputs: ReadonlySet<string>): Promise<boolean> {
  if (outputs.size === 0) return false;
  try {
    const descriptors = await readdir(`/proc/${pid}/fd`);
    const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
    return targets.some((target) => outputs.has(target));
  } catch {
    return false;
  }
}

/** The names that `/proc` gives a process's standard output and error; empty when it can't be told. */
export function outputsOf(pid: number): ReadonlySet<string> {
  try {
    return new Set([readlinkSync(`/proc/${pid}/fd/1`), readlinkSync(`/proc/${pid}/fd/2`)]);
  } catch {
    return new Set();
  }
}
