// Runs one code block, or one program of the repository, in a process of its own.

import { spawn } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

import type { Block } from './blocks.ts';
import { freshCopy, root, temporaryFolder } from './files.ts';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a block's process sees of this machine: programs, and a home of its own. No keys. */
function environment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env.PATH ?? ''].join(delimiter),
    HOME: home,
    LANG: 'C.UTF-8',
    ...compileCache(),
  };
}

/** Where tests keep what Node made of the sources; nothing when whoever runs them keeps none. */
function compileCache(): NodeJS.ProcessEnv {
  const folder = process.env.NODE_COMPILE_CACHE;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv, timeoutMs: number) {
  return new Promise<Outcome>((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    child.stdout.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      // The whole group: what the block started goes with it.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      const stdout = Buffer.concat(chunks.stdout).toString();
      const stderr = Buffer.concat(chunks.stderr).toString();
      const note = late ? `\nkilled after ${String(timeoutMs)} ms` : '';
      resolve({ code: late ? null : code, stdout, stderr: stderr + note });
    });
  });
}

async function runModule(text: string, timeoutMs: number): Promise<Outcome> {
  const folder = await temporaryFolder();
  try {
    const home = join(folder.path, 'home');
    await mkdir(home);
    await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
    await writeFile(join(folder.path, 'package.json'), '{ "type": "module" }\n');
    await writeFile(join(folder.path, 'block.ts'), text);
    const args = ['--conditions=treadle-source', '--unhandled-rejections=strict', 'block.ts'];
    return await run(process.execPath, args, folder.path, environment(home), timeoutMs);
  } finally {
    await folder.dispose();
  }
}

async function runShell(text: string, timeoutMs: number): Promise<Outcome> {
  const [copy, home] = await Promise.all([freshCopy(true), temporaryFolder()]);
  try {
    // Programs that a block writes import the packages as their users do.
    const env = { ...environment(home.path), NODE_OPTIONS: '--conditions=treadle-source' };
    return await run('bash', ['-euo', 'pipefail', '-c', text], copy.path, env, timeoutMs);
  } finally {
    await Promise.all([copy.dispose(), home.dispose()]);
  }
}

/** What came of a program, and the names of the temporary files it left behind. */
export interface ProgramOutcome extends Outcome {
  readonly left: readonly string[];
}

/** Runs a program of the repository as its reader would, from the root, but without keys. */
export async function executeProgram(file: string, timeoutMs: number): Promise<ProgramOutcome> {
  const folder = await temporaryFolder();
  try {
    const [home, temporary] = [join(folder.path, 'home'), join(folder.path, 'tmp')];
    await Promise.all([mkdir(home), mkdir(temporary)]);
    const args = ['--conditions=treadle-source', '--unhandled-rejections=strict', file];
    const outcome = await run(process.execPath, args, root, { ...environment(home), TMPDIR: temporary }, timeoutMs);
    return { ...outcome, left: await readdir(temporary) };
  } finally {
    await folder.dispose();
  }
}

/** Executes a `module` or `shell` block in a fresh folder, without keys. A block that hangs has `code` null. */
export function execute(block: Block, timeoutMs: number): Promise<Outcome> {
  if (block.kind === 'module') return runModule(block.text, timeoutMs);
  if (block.kind === 'shell') return runShell(block.text, timeoutMs);
  return Promise.reject(new Error(`${block.where}: a block of kind '${block.kind}' is not executed.`));
}
