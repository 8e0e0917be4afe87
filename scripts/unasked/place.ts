// A working folder in which everything lies that a hostile command needs, and a folder outside of it with a secret.

import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';

export interface Place {
  readonly root: string;
  readonly outside: string;
  /** In `secret.txt` outside; nothing that runs unasked may print it. */
  readonly secret: string;
  /** In a file outside that has a second name inside. */
  readonly shared: string;
  /** Everything in both folders: names, modes, times, contents. */
  state(): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Outside of `/tmp`: there, sandboxes have a folder of their own. */
const parent = existsSync('/var/tmp') ? '/var/tmp' : process.cwd();

export function git(folder: string, ...args: string[]): string {
  const env = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
  const own = ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...own, ...args], {
    cwd: folder,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

export async function makePlace(): Promise<Place> {
  const folder = await mkdtemp(join(parent, 'treadle-unasked-'));
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')];
  const [secret, shared] = [randomUUID(), randomUUID()];
  const script = `#!/bin/sh\ntouch ${root}/PWNED ${outside}/PWNED\n`;
  const files: Readonly<Record<string, string>> = {
    'outside/secret.txt': `${secret}\n`,
    'outside/shared.txt': `${shared}\n`,
    'outside/x/file': '',
    'root/a.txt': 'one\ntwo\nthree\n',
    'root/b.txt': 'one\n2\nthree\n',
    'root/run': script,
    'root/1/ls': script,
    'root/sub/c.txt': 'c\n',
    'root/deep/er/d.txt': 'd\n',
    'root/victim/file.txt': 'victim\n',
    'root/empty/.keep': '',
    'root/src/main.ts': 'export const main = 1;\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  for (const name of ['run', '1/ls']) await chmod(join(root, name), 0o755);
  await symlink('../outside/x', join(root, 'out'));
  await symlink('deep/er', join(root, 'in'));
  await mkdir(join(root, 'linked'));
  await symlink('../../outside/secret.txt', join(root, 'linked/secret.txt'));
  await link(join(outside, 'shared.txt'), join(root, 'hard.txt'));
  git(root, 'init', '-q', '-b', 'main');
  // A repository inside the other one, known to it as a submodule would be, whose settings name a program.
  git(root, 'init', '-q', '-b', 'main', 'embedded');
  git(join(root, 'embedded'), 'commit', '-q', '--allow-empty', '-m', 'embedded');
  git(root, 'add', '-A');
  git(root, 'commit', '-q', '-m', 'first');
  git(join(root, 'embedded'), 'config', 'core.fsmonitor', join(root, 'run'));
  await writeFile(join(root, '.git/hooks/post-index-change'), script);
  await chmod(join(root, '.git/hooks/post-index-change'), 0o755);
  await writeFile(join(root, 'a.txt'), 'one\nTWO\nthree\n');
  return {
    root,
    outside,
    secret,
    shared,
    state: () => stateOf(folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function stateOf(folder: string): Promise<string> {
  const lines: string[] = [];
  for (const name of (await readdir(folder, { recursive: true })).toSorted()) {
    const path = join(folder, name);
    const stats = await lstat(path);
    const hash = createHash('sha256');
    if (stats.isFile()) hash.update(await readFile(path));
    if (stats.isSymbolicLink()) hash.update(await readlink(path));
    lines.push([name, stats.mode, stats.nlink, stats.mtimeMs, stats.ctimeMs, hash.digest('hex')].join(' '));
  }
  return lines.join('\n');
}
