// Installs what the tests of `compat` use. Each folder there has a lockfile of its own, outside the workspaces.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

const root = join(import.meta.dirname, '../..');

/** Runs `npm ci` in each folder whose lockfile or package.json has changed since. */
export function setup(): void {
  for (const lockfile of globSync('compat/*/package-lock.json', { cwd: root })) {
    const folder = dirname(join(root, lockfile));
    const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
    const hash = createHash('sha256')
      .update(manifest)
      .update(readFileSync(join(root, lockfile)))
      .digest('hex');
    const mark = join(folder, 'node_modules', '.installed');
    if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) continue;
    // Scripts run only where a folder names the packages whose scripts it needs: some runtimes fetch their program so.
    const { allowScripts } = JSON.parse(manifest) as {
      allowScripts?: object;
    };
    const scripts = allowScripts === undefined ? ['--ignore-scripts'] : [];
    const { status } = spawnSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', ...scripts], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    });
    if (status !== 0) throw new Error(`npm ci failed in ${folder}.`);
    writeFileSync(mark, hash);
  }
}
