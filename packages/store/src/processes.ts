import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Which process holds a claim. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in a form that only equals itself; null where the system doesn't tell cheaply. */
  readonly start: string | null;
  /** The machine, and on Linux the space in which process ids mean something. */
  readonly host: string;
}

/** Who lives on this machine. */
export interface ProcessTable {
  self(): ProcessIdentity;
  /** True only when it is certain that the process is no more: its id is free, or another process has it now. */
  isGone(process: ProcessIdentity): boolean;
  /** Names this start of the machine; empty or absent where that can't be told. */
  boot?(): string;
}

/** What `/proc` has; null where it doesn't, or may not be looked at. */
function look(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}

const readText = (path: string): string | null => look(() => readFileSync(path, 'utf8'));

/** State and start of a Linux process, from `/proc/PID/stat`: fields 3 and 22; the name before them may hold anything. */
function statOf(pid: number): { state: string; ticks: string } | null {
  const stat = readText(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields?.[0], fields?.[19]];
  return state !== undefined && ticks !== undefined ? { state, ticks } : null;
}

/** Ticks count from the boot, so only together with it they name a moment. */
const bootId = (): string => readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '';

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Anything but "no such process" means that there is one, perhaps another user's.
    return (error as { code?: unknown }).code !== 'ESRCH';
  }
}

function describeSelf(): ProcessIdentity {
  const stat = statOf(process.pid);
  const space = look(() => readlinkSync('/proc/self/ns/pid'));
  const host = space === null ? hostname() : `${hostname()} ${space}`;
  return { pid: process.pid, start: stat && `${bootId()}:${stat.ticks}`, host };
}

let own: ProcessIdentity | undefined;

/** The operating system's own table. */
export const systemProcesses: ProcessTable = {
  boot: bootId,
  self: () => (own ??= describeSelf()),
  isGone({ pid, start, host }) {
    if (host !== this.self().host) return false;
    if (!exists(pid)) return true;
    const stat = statOf(pid);
    if (!stat) return false;
    return stat.state === 'Z' || stat.state === 'X' || (start !== null && start !== `${bootId()}:${stat.ticks}`);
  },
};
