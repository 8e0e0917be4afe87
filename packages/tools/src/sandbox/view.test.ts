import { execFileSync } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { workspace } from '../test-support/workspace.ts';
import { viewEnvironment } from './view.ts';

const PATH = process.env['PATH'] ?? '';

/** A repository with a hook, a monitor, and one inside it whose own settings name a monitor; each leaves a file when it runs. */
async function hostileRepository() {
  const place = await workspace({ 'a.txt': 'one\n' });
  const { root, outside } = place;
  const git = (folder: string, ...args: string[]): string => {
    const own = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main'];
    return execFileSync('git', ['-C', folder, ...own, ...args], {
      env: { PATH, HOME: outside },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  };
  const sub = join(root, 'sub');
  git(root, 'init', '-q');
  git(root, 'init', '-q', 'sub');
  git(sub, 'commit', '-q', '--allow-empty', '-m', 'sub');
  // Says that changes inside count, whatever the caller's settings say.
  await writeFile(join(root, '.gitmodules'), '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n');
  git(root, 'add', '-A');
  git(root, 'commit', '-q', '-m', 'first');
  const leaves = (name: string): string => `#!/bin/sh\ntouch '${join(outside, `ran-${name}`)}'\n`;
  await place.put('root/.git/hooks/post-index-change', leaves('hook'), 0o755);
  await place.put('outside/monitor', leaves('monitor'), 0o755);
  await place.put('outside/sub-monitor', leaves('sub-monitor'), 0o755);
  git(root, 'config', 'core.fsmonitor', join(outside, 'monitor'));
  git(sub, 'config', 'core.fsmonitor', join(outside, 'sub-monitor'));
  return {
    root,
    /** Runs a command, and says what ran of all that the repository names. */
    async ran(command: readonly string[], env: Readonly<Record<string, string>>): Promise<readonly string[]> {
      // Another time stamp, so that git has a reason to look, and to write down what it saw.
      await writeFile(join(root, 'a.txt'), 'one\n');
      const [program = '', ...args] = command;
      execFileSync(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'ignore'] });
      const found = (await readdir(outside)).filter((name) => name.startsWith('ran-')).toSorted();
      for (const name of found) await rm(join(outside, name));
      return found;
    },
  };
}

describe('the environment of a confined command', () => {
  test.each(['status', 'diff', 'diff --submodule=diff'])('lets git %s start no hook and no monitor', async (text) => {
    const command = ['git', ...text.split(' ')];
    const { ran, root } = await hostileRepository();
    expect(await ran(command, { PATH })).toContain('ran-monitor');
    expect(await ran(['git', 'status'], { PATH })).toEqual(['ran-hook', 'ran-monitor', 'ran-sub-monitor']);
    const index = await readFile(join(root, '.git/index'));
    expect(await ran(command, viewEnvironment({ PATH }))).toEqual([]);
    // Nor does it write down what it saw, which takes a lock.
    expect(await readFile(join(root, '.git/index'))).toEqual(index);
    // Even a command that writes the index starts no hook.
    expect(await ran(['git', 'add', 'a.txt'], viewEnvironment({ PATH }))).toEqual([]);
  });

  test('has nothing of ours but what says how programs write', () => {
    const ours = { PATH, LANG: 'C.UTF-8', LC_ALL: 'C', TZ: 'UTC', COLUMNS: '80', LS_COLORS: '' };
    const kept = viewEnvironment({
      ...ours,
      OPENAI_API_KEY: 'k',
      GIT_DIR: '/x',
      GIT_EXTERNAL_DIFF: 'x',
      BASH_ENV: '/x',
    });
    expect(kept).toMatchObject(ours);
    for (const name of ['OPENAI_API_KEY', 'GIT_DIR', 'GIT_EXTERNAL_DIFF', 'BASH_ENV'])
      expect(kept).not.toHaveProperty(name);
    expect(kept).toMatchObject({ HOME: '/tmp', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' });
  });
});
