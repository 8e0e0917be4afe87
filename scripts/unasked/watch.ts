// Runs a program under strace, and says what the commands that it started did.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Something that a command did: a system call that succeeded. */
export interface Deed {
  /** `open` with what was opened; otherwise the call's own name. */
  readonly call: string;
  /** The call as strace prints it. */
  readonly text: string;
  /** The path that was opened or changed, as the process saw it. */
  readonly path: string;
  readonly kind: 'read' | 'change' | 'socket';
}

export interface Watched {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** How many commands were started. */
  readonly commands: number;
  /** What they, and all that they started, did. */
  readonly deeds: readonly Deed[];
}

const opens = ['open', 'openat', 'openat2', 'creat'];
const changes = [
  ...['unlink', 'unlinkat', 'rename', 'renameat', 'renameat2', 'mkdir', 'mkdirat', 'rmdir', 'link', 'linkat'],
  ...['symlink', 'symlinkat', 'chmod', 'fchmod', 'fchmodat', 'fchmodat2', 'chown', 'fchown', 'lchown', 'fchownat'],
  ...['truncate', 'ftruncate', 'mknod', 'mknodat', 'utime', 'utimes', 'utimensat', 'futimesat'],
  ...['setxattr', 'lsetxattr', 'fsetxattr', 'removexattr', 'lremovexattr', 'fremovexattr'],
];
const sockets = ['socket', 'connect', 'bind', 'sendto', 'sendmsg', 'sendmmsg'];
const kinds = new Set([...opens, ...changes, ...sockets]);
const traced = ['%process', ...[...opens, ...changes, ...sockets].map((name) => `?${name}`)];

export interface WatchOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether a program that is started is a command: what it and its children do is what is told of. */
  readonly isCommand: (program: string, args: readonly string[]) => boolean;
}

export async function watch(program: string, args: readonly string[], options: WatchOptions): Promise<Watched> {
  const folder = await mkdtemp(join(tmpdir(), 'treadle-watch-'));
  try {
    const log = join(folder, 'log');
    const flags = ['-f', '--seccomp-bpf', '-y', '--pidns-translation', '-s', '100000', '-e', 'signal=none', '-o', log];
    const child = spawn('strace', [...flags, '-e', `trace=${traced.join(',')}`, '--', program, ...args], {
      cwd: options.cwd,
      env: options.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const texts = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.stderr += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...texts, ...read(await readFile(log, 'utf8'), options.isCommand) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Line {
  readonly pid: string;
  readonly call: string;
  readonly text: string;
  readonly result: string;
}

/** Reads a log of strace: which processes belong to commands, and what these did. */
function read(log: string, isCommand: WatchOptions['isCommand']): Pick<Watched, 'commands' | 'deeds'> {
  const lines = [...linesOf(log)];
  const parents = new Map<string, string>();
  for (const { pid, call, result } of lines) {
    if (!/^(?:clone3?|v?fork)$/.test(call)) continue;
    // In a namespace of processes the number is given twice, and the second one is ours.
    const child = /\/\* (\d+) in strace/.exec(result)?.[1] ?? /^\d+/.exec(result)?.[0];
    if (child !== undefined) parents.set(child, pid);
  }
  const commands = new Set<string>();
  // A child may be at work before its parent's log has its number.
  const isInside = (pid: string | undefined): boolean =>
    pid !== undefined && (commands.has(pid) || isInside(parents.get(pid)));
  const deeds: Deed[] = [];
  for (const { pid, call, text, result } of lines) {
    if (call === 'execve') {
      const [, program = '', list = ''] = /^execve\("((?:[^"\\]|\\.)*)", \[(.*)\], 0x/.exec(text) ?? [];
      const words = [...list.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => unescaped(word));
      if (!isInside(pid) && isCommand(unescaped(program), words)) commands.add(pid);
    } else if (isInside(pid) && kinds.has(call)) {
      deeds.push({ call, text, path: pathOf(call, text, result), kind: kindOf(call, text) });
    }
  }
  return { commands: commands.size, deeds };
}

/** The calls that succeeded. A call during which another process was at work is in the log in two halves. */
function* linesOf(log: string): Generator<Line> {
  const begun = new Map<string, string>();
  for (const line of log.split('\n')) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const first = /^(.*) <unfinished \.\.\.>$/.exec(rest)?.[1];
    if (first !== undefined) {
      begun.set(pid, first);
      continue;
    }
    const second = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const text = second === undefined ? rest : `${begun.get(pid) ?? ''}${second}`;
    const [, call = '', result = ''] = /^(\w+)\(.* += (-?\d+.*|\?.*)$/.exec(text) ?? [];
    if (call !== '' && /^\d/.test(result)) yield { pid, call, text, result };
  }
}

function kindOf(call: string, text: string): Deed['kind'] {
  if (sockets.includes(call)) return 'socket';
  if (!opens.includes(call)) return 'change';
  return call === 'creat' || /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE/.test(text) ? 'change' : 'read';
}

/** What an opened descriptor leads to, or the path that a change names. */
function pathOf(call: string, text: string, result: string): string {
  if (opens.includes(call)) return unescaped(/<(.*)>(?:\(deleted\))?$/.exec(result)?.[1] ?? '');
  const [, folder, path = ''] = /\((?:(?:AT_FDCWD|\d+)<(.*?)>, )?(?:"((?:[^"\\]|\\.)*)")?/.exec(text) ?? [];
  return path.startsWith('/') || folder === undefined ? unescaped(path) : `${unescaped(folder)}/${unescaped(path)}`;
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(?:x([0-9a-f]{2})|([0-7]{1,3})|(.))/g, (_all, hex?: string, octal?: string, other = '') => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    return { n: '\n', t: '\t', r: '\r' }[other as string] ?? (other as string);
  });
