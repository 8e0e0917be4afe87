import { errorText, type Clock } from '@treadle/core';
import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HelperEnd, SandboxParts } from './parts.ts';
import { probeReading, type ReadingStatus } from './probe-reading.ts';
import { protectedNames, type SandboxSettings } from './settings.ts';
import { systemCallFilter } from './system-calls.ts';
import { wrapCommand, type SandboxMeans } from './wrap.ts';

/** Whether commands can be sandboxed on this machine, found out by really doing it. */
export interface SandboxStatus {
  readonly works: boolean;
  /** Why it doesn't, in words for a person; null when it does. */
  readonly reason: string | null;
  /** The absolute path of bubblewrap; null when there is none. */
  readonly program: string | null;
  /** How the number of processes is limited. */
  readonly processLimit: 'cgroup' | 'rlimit' | 'none' | null;
  /** Whether commands that only read may run unasked, because they can be confined to what they may read. */
  readonly reading: ReadingStatus;
}

export interface Probed {
  readonly status: SandboxStatus;
  /** What commands are sandboxed with; undefined when something is missing. */
  readonly means: SandboxMeans | undefined;
}

const probes = new WeakMap<SandboxParts, Map<string, Promise<Probed>>>();

/** Finds out, once for a process and for what the settings need, whether commands can be sandboxed here. */
export function probe(settings: SandboxSettings, parts: SandboxParts, clock: Clock): Promise<Probed> {
  const known = probes.get(parts) ?? new Map<string, Promise<Probed>>();
  probes.set(parts, known);
  const { network, maxProcesses } = settings;
  const key = JSON.stringify([network, maxProcesses === null]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = lookForMeans(settings, parts, clock);
  known.set(key, made);
  return made;
}

export const unavailable = (reason: string, program: string | null = null): Probed => ({
  status: { works: false, reason, program, processLimit: null, reading: { works: false, reason } },
  means: undefined,
});

async function lookForMeans(settings: SandboxSettings, parts: SandboxParts, clock: Clock): Promise<Probed> {
  if (parts.platform !== 'linux') return unavailable('sandboxes are made by bubblewrap, which runs on Linux only');
  const names = ['bwrap', 'flock', 'setpriv'];
  const [program, flock, setpriv] = await Promise.all(names.map((name) => parts.find(name)));
  if (program === undefined) {
    return unavailable('bubblewrap is not installed (Debian, Ubuntu: apt-get install bubblewrap)');
  }
  if (flock === undefined || setpriv === undefined) {
    return unavailable('flock or setpriv is missing (both are part of util-linux)', program);
  }
  const [writing, reading] = [systemCallFilter({ sockets: true }), systemCallFilter({ sockets: false })];
  if (writing === undefined || reading === undefined) {
    return unavailable('its filter of system calls knows x64 and arm64 processors only', program);
  }
  try {
    const processLimit = await processLimitFor(settings, parts);
    if (processLimit === undefined) {
      return unavailable(
        'the number of processes can not be limited: there is no control group to make one in',
        program,
      );
    }
    const means: SandboxMeans = { program, flock, setpriv, processLimit, filters: { writing, reading } };
    const problem = await tryOut(means, settings, parts, clock);
    if (problem !== undefined) return unavailable(problem, program);
    const status = { works: true, reason: null, program, processLimit };
    return { status: { ...status, reading: await probeReading({ settings, means, parts, clock }) }, means };
  } catch (error) {
    return unavailable(errorText(error), program);
  }
}

async function processLimitFor(
  { maxProcesses }: SandboxSettings,
  parts: SandboxParts,
): Promise<SandboxMeans['processLimit'] | undefined> {
  if (maxProcesses === null) return 'none';
  const group = await parts.makeProcessGroup(maxProcesses);
  await group?.remove();
  if (group !== undefined) return 'cgroup';
  // A limit on a user's processes doesn't bind the administrator.
  return parts.isAdministrator ? undefined : 'rlimit';
}

const timeoutMs = 10_000;
const mark = 'the sandbox holds';

/**
 * What a sandbox is for, in one command: it may write here, and neither there nor over what decides what runs. What it writes
 * beside its folder is in a `/tmp` of its own and must not be found afterwards.
 */
const script = `
echo x > inside || exit 1
echo x 2>/dev/null > "$1/outside"
if [ -w / ] || [ -w /usr ] || [ -w /etc ]; then echo 'it can write outside'; exit 1; fi
if mkdir .git/hooks 2>/dev/null; then echo 'it can write into .git'; exit 1; fi
if (echo x > .mcp.json) 2>/dev/null; then echo 'it can write .mcp.json'; exit 1; fi
if mv .git other 2>/dev/null; then echo 'it can move .git'; exit 1; fi
if chmod u+s inside 2>/dev/null; then echo 'it can make a file run as its owner'; exit 1; fi
echo '${mark}'`;

/** Runs that command for real. Returns what is wrong, or undefined. */
async function tryOut(
  means: SandboxMeans,
  settings: SandboxSettings,
  parts: SandboxParts,
  clock: Clock,
): Promise<string | undefined> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'treadle-sandbox-')));
  try {
    const root = join(folder, 'root');
    await mkdir(root);
    const own: SandboxSettings = { ...settings, mode: 'workspace-write', writable: [], readOnlyNames: protectedNames };
    const options = { root, settings: own, means, parts, clock };
    const wrapped = await wrapCommand(['/bin/sh', '-c', script, 'sh', folder], options);
    const { file, args, handed } = wrapped;
    let end: HelperEnd;
    try {
      end = await parts.run({ file, args, handed, folder: '/', timeoutMs, clock });
    } finally {
      await wrapped.release();
    }
    if (end.exitCode !== 0 || !end.output.includes(mark)) {
      const said = `${end.errors.trim()} ${end.output.trim()}`.trim().replaceAll(/\s+/g, ' ').slice(0, 400);
      return `a command in it failed (exit code ${end.exitCode ?? 'none'}): ${said || 'it said nothing'}`;
    }
    const left = [...(await readdir(folder)), ...(await readdir(root))];
    return left.join() === 'root,inside' ? undefined : `it left ${left.join(', ')}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
