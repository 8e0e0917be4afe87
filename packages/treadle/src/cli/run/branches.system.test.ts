import { scriptedModel } from '@treadle/testing';

import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../../test-support/harness.ts';

describe('treadle run --branches --copies worktree', () => {
  it('does it in Git worktrees, takes over the files of the winner, and leaves no worktree', async () => {
    await using folder = await temporaryFolder();
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=S', '-c', 'user.email=s@example.com', ...args], {
        cwd: folder.path,
        encoding: 'utf8',
      });
    git('init', '--quiet');
    await writeFile(join(folder.path, '.gitignore'), 'installed/\n');
    git('add', '--all');
    git('commit', '--quiet', '--message=first');
    await mkdir(join(folder.path, 'installed'));
    await writeFile(join(folder.path, 'installed', 'big.js'), 'ignored');
    const seen: string[] = [];
    const model = scriptedModel(({ messages }) => {
      const listed = messages.find((message) => message.role === 'tool' && message.toolName === 'list_files');
      if (!listed) return { toolCalls: [{ name: 'list_files', arguments: {} }] };
      if (messages.at(-1)?.role === 'tool' && messages.at(-1) !== listed) return 'Written.';
      seen.push(JSON.stringify(listed.content));
      return { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'by a branch' } }] };
    });
    const argv = ['run', 'Write a file.', '--permission-mode', 'acceptEdits', '--branches', '2', '--judge', 'first'];
    const { code, stderr } = await runCli([...argv, '--copies', 'worktree'], { cwd: folder.path, model });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await readFile(join(folder.path, 'a.txt'), 'utf8')).toBe('by a branch');
    expect((await readdir(folder.path)).toSorted()).toEqual(['.git', '.gitignore', 'a.txt', 'installed']);
    expect(seen).toHaveLength(2);
    for (const listed of seen) expect(listed).not.toContain('installed');
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });
});
