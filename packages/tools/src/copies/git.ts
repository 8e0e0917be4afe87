import { TreadleError } from '@treadle/core';
import { execFile } from 'node:child_process';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { withoutSecrets } from '../bash/environment.ts';

/** Milliseconds a command of git has. */
const TIMEOUT_MS = 120_000;

/** Bytes of paths: a few hundred thousand of them. */
const MAX_OUTPUT = 64 * 1024 * 1024;

// Nobody may have trusted the repository: its settings must not make git run something else, nor fetch what it lacks from
// where they say, which may be a program.
const SAFE = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'safe.bareRepository=explicit'].flatMap((setting) => [
  '-c',
  setting,
]);
const NO_FETCH = { GIT_ALLOW_PROTOCOL: 'none' };

/**
 * Runs git in a folder, and gives what it printed.
 *
 * @throws TreadleError `invalid_definition` when there is no git, or it refuses: the message has its words.
 */
export function git(folder: string, args: readonly string[]): Promise<string> {
  // What is meant for another repository, such as a hook's, is not for this one.
  const own = Object.entries(withoutSecrets(process.env)).filter(([name]) => !name.startsWith('GIT_'));
  const env = { ...Object.fromEntries(own), ...NO_FETCH };
  const options = { cwd: folder, env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT };
  return new Promise((resolve, reject) => {
    execFile('git', [...SAFE, ...args], options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const [command = ''] = args;
      const why = error.code === 'ENOENT' ? 'git is not installed' : stderr.trim() || error.message;
      reject(new TreadleError('invalid_definition', `git ${command} failed in ${folder}: ${why}`, { cause: error }));
    });
  });
}

/**
 * The files of a folder as git sees them, below it: those it tracks and those it would, without what it ignores. Links
 * count as files; repositories inside of the repository are left out.
 */
export async function filesIn(folder: string): Promise<ReadonlySet<string>> {
  const printed = await git(folder, ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', '.']);
  const found = new Set<string>();
  for (const path of new Set(printed.split('\0'))) {
    const there = path === '' ? null : await lstat(join(folder, path)).catch(() => null);
    if (there?.isFile() === true || there?.isSymbolicLink() === true) found.add(path);
  }
  return found;
}
