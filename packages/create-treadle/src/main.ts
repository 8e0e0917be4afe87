import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { relative } from 'node:path';
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline/promises';

import { HELP, readArguments } from './arguments.ts';
import { CreateProblem } from './problem.ts';
import { writeProject } from './project.ts';
import { complete, type Answers } from './questions.ts';
import { commandOf } from './templates.ts';

/** The command: asks what is left out, writes the project, and installs its dependencies. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    const given = readArguments(args);
    if (given.help) return void process.stdout.write(HELP);
    const answers = await answersTo(given);
    const path = await writeProject(answers.folder, answers.template);
    if (answers.install) await install(path);
    process.stdout.write(next(relative(process.cwd(), path) || '.', answers));
  } catch (error) {
    if (!(error instanceof CreateProblem)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

async function answersTo(given: ReturnType<typeof readArguments>): Promise<Answers> {
  if (!process.stdin.isTTY) return complete(given, null);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await Promise.race([complete(given, terminal), closing(terminal)]);
  } finally {
    terminal.close();
  }
}

/** Rejects when the person leaves instead of answering. */
async function closing(terminal: Interface): Promise<never> {
  await once(terminal, 'close');
  throw new CreateProblem('Stopped. Nothing was written.');
}

/** @throws CreateProblem when npm fails. The project stays. */
async function install(cwd: string): Promise<void> {
  const npm = spawn('npm', ['install', '--no-audit', '--no-fund'], {
    cwd,
    stdio: 'inherit',
    // npm is a script on Windows, and scripts need a shell there. Every argument is ours.
    shell: process.platform === 'win32',
  });
  const code = await once(npm, 'exit').then(
    ([exit]: unknown[]) => exit,
    () => 'missing',
  );
  if (code !== 0) throw new CreateProblem(`npm install failed. The project is written: run it again in ${cwd}.`);
}

/** What to run next. */
function next(folder: string, { install: isInstalled, template }: Answers): string {
  const quoted = /\s/.test(folder) ? JSON.stringify(folder) : folder;
  const commands = [`cd ${quoted}`, ...(isInstalled ? [] : ['npm install']), commandOf(template)];
  return `\nDone. Now run:\n\n${commands.map((command) => `  ${command}\n`).join('')}\n`;
}
