import { execFile, spawn, type StdioOptions } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';
import { promisify, stripVTControlCharacters } from 'node:util';

import { exactLine } from '../asking/plain-text.ts';

/** Paths that are offered at most. */
const MOST = 50_000;
/** Characters of a command's output that are kept. */
const LONGEST = 30_000;

// Nobody may have trusted the repository: its settings must not make git run something, nor fetch what it lacks.
const SAFE = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'safe.bareRepository=explicit'];
const NO_FETCH = { GIT_ALLOW_PROTOCOL: 'none' };
/** Milliseconds that git has: a pipe in the place of a `.gitignore` would never end. */
const TIMEOUT_MS = 30_000;

/** The files of a folder, for completion: as Git has them, else as they are. Looked up on first use. */
export function fileList(folder: string): (changed: () => void) => readonly string[] | null {
  let paths: readonly string[] | null = null;
  let looking: Promise<void> | null = null;
  return (changed) => {
    looking ??= (async () => {
      const args = [...SAFE.flatMap((one) => ['-c', one]), 'ls-files', '-co', '--exclude-standard', '-z'];
      const options = { cwd: folder, env: { ...process.env, ...NO_FETCH }, maxBuffer: MOST * 200, timeout: TIMEOUT_MS };
      const git = await promisify(execFile)('git', args, options).catch(() => null);
      const found = git === null ? await walk(folder) : git.stdout.split('\0').filter((path) => path !== '');
      // A name that a terminal would obey, or that looks like another one, can't be typed either.
      paths = found.filter((path) => exactLine(path) === path);
      changed();
    })();
    return paths;
  };
}

async function walk(folder: string): Promise<string[]> {
  const found: string[] = [];
  const open = [folder];
  for (let next = open.shift(); next !== undefined && found.length < MOST; next = open.shift()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      const path = join(next, entry.name);
      if (entry.isFile()) found.push(relative(folder, path));
      else if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules') open.push(path);
    }
  }
  return found;
}

/** What a command of the user's runs with. */
interface ShellOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Called with all output so far. */
  readonly shown: (output: string) => void;
}

/** Milliseconds that a command has to end in when it is stopped. */
const STOPPING_MS = 2000;

/** What a command of the user's has put out, and how it ended. It runs as in the user's own shell. */
export function shellOutput(command: string, { folder, env, signal, shown }: ShellOptions): Promise<string> {
  return new Promise((resolve) => {
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
    // A group of its own: what it starts is stopped with it.
    const child = spawn(env['SHELL'] ?? '/bin/sh', ['-c', command], { cwd: folder, stdio, env, detached: true });
    let text = '';
    const all = (): string => {
      const plain = stripVTControlCharacters(text);
      return plain.length <= LONGEST ? plain : `${plain.slice(0, LONGEST / 2)}\n…\n${plain.slice(-LONGEST / 2)}`;
    };
    const take = (chunk: string): void => {
      if (text.length < MOST * 200) text += chunk;
      shown(all());
    };
    child.stdout?.setEncoding('utf8').on('data', take);
    child.stderr?.setEncoding('utf8').on('data', take);
    const kill = (how: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, how);
      } catch {
        // It has ended.
      }
    };
    let late: NodeJS.Timeout | undefined;
    const stop = (): void => {
      kill('SIGTERM');
      late = setTimeout(() => kill('SIGKILL'), STOPPING_MS);
    };
    signal.addEventListener('abort', stop);
    // Nothing of it outlives this process.
    const leave = (): void => kill('SIGKILL');
    process.once('exit', leave);
    const ended = (code: number | null, why: string): void => {
      clearTimeout(late);
      process.off('exit', leave);
      signal.removeEventListener('abort', stop);
      const said = all().replace(/^\n+/, '').trimEnd();
      const how = signal.aborted ? '[stopped]' : code === 0 ? '' : `[exit code ${code ?? 'unknown'}]`;
      resolve([said, why, how].filter((line) => line !== '').join('\n'));
    };
    child.once('error', (error) => ended(null, error.message));
    child.once('close', (code) => ended(code, ''));
  });
}

/** Has a text edited in the user's editor. Null when there is none, or it failed. */
export async function editText(text: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi';
  const folder = await mkdtemp(join(tmpdir(), 'treadle-draft-'));
  const file = join(folder, 'draft.md');
  try {
    await writeFile(file, text, { mode: 0o600 });
    // As a shell would start it: the variable may have arguments.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], { stdio: 'inherit', env });
    const code = await new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(null));
      child.once('close', resolve);
    });
    return code === 0 ? (await readFile(file, 'utf8')).replace(/\n$/, '') : null;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
