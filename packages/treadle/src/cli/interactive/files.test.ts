import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../../test-support/harness.ts';
import { fileList } from './files.ts';

const listed = (folder: string): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const list = fileList(folder);
    list(() => resolve((list(() => {}) ?? []).toSorted()));
  });

describe('the files that are offered for completion', () => {
  it('are those that git has, and none of the programs that the repository names is run', async () => {
    await using at = await temporaryFolder();
    const folder = join(at.path, 'repo');
    const ran = join(at.path, 'ran');
    await mkdir(join(folder, 'deep'), { recursive: true });
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
        cwd: folder,
        encoding: 'utf8',
      });
    git('init', '-q');
    await writeFile(join(folder, 'deep', '.gitignore'), 'left-out\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    // What git would read of the index is missing, and a program is named that brings it.
    git('update-index', '--skip-worktree', 'deep/.gitignore');
    const object = git('rev-parse', ':deep/.gitignore').trim();
    await rm(join(folder, '.git/objects', object.slice(0, 2), object.slice(2)));
    await rm(join(folder, 'deep/.gitignore'));
    const settings = {
      'core.fsmonitor': `touch ${ran}-fsmonitor;#`,
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'far',
      'remote.far.promisor': 'true',
      'remote.far.url': folder,
      'remote.far.uploadpack': `touch ${ran}-uploadpack;#`,
      'protocol.file.allow': 'always',
    };
    for (const [key, value] of Object.entries(settings)) git('config', key, value);
    for (const name of ['read.me', 'deep/file']) await writeFile(join(folder, name), '');
    const files = await listed(folder);
    expect(execFileSync('ls', [at.path], { encoding: 'utf8' })).toBe('repo\n');
    expect(files).toEqual(['deep/.gitignore', 'deep/file', 'read.me']);
  });

  it('are walked through in a folder that git does not know', async () => {
    await using at = await temporaryFolder();
    await mkdir(join(at.path, 'deep'));
    await writeFile(join(at.path, 'deep', 'file'), '');
    expect(await listed(at.path)).toEqual(['deep/file']);
  });
});
