import { createSession, defineAgent, promoteBranch, runBranches } from '@treadle/core';
import { chosenBy, type BranchConfig } from '@treadle/core/branches';
import { scriptedModel } from '@treadle/testing';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { readFileTool, writeFileTool } from '../file-tools.ts';
import { worktreeCopies } from './worktree-copies.ts';

const WHO = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.com'];
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', [...WHO, ...args], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

let base: string;
let root: string;

const write = (path: string, content: string | Buffer): void => writeFileSync(join(root, path), content);
const read = (folder: string, path: string): string => readFileSync(join(folder, path), 'utf8');

/** A repository with a commit, and with all kinds of things that aren't committed. */
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'treadle-worktrees-')));
  root = join(base, 'project');
  mkdirSync(join(root, 'src', 'deep'), { recursive: true });
  git(root, 'init', '--quiet', '--initial-branch=main');
  write('.gitignore', 'installed/\n');
  write('.gitattributes', '*.txt text eol=crlf\n');
  write('a.txt', 'committed\r\n');
  write('src/bytes.bin', Buffer.from([0, 255, 10, 13, 0]));
  write('src/deep/old.txt', 'old\r\n');
  write('gone.md', 'removed since');
  git(root, 'add', '--all');
  git(root, 'commit', '--quiet', '--message=first');
  write('a.txt', 'changed since\r\n');
  rmSync(join(root, 'gone.md'));
  write('new.txt', 'not added\n');
  write('run.sh', '#!/bin/sh\n');
  chmodSync(join(root, 'run.sh'), 0o755);
  symlinkSync('a.txt', join(root, 'link'));
  mkdirSync(join(root, 'installed'));
  write('installed/big.js', 'ignored');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** All files of a folder but git's own and what it ignores: each path with its kind, its mode and its bytes. */
function all(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below))
    .toSorted()
    .filter((name) => name !== '.git' && name !== 'installed')
    .flatMap((name) => {
      const path = join(below, name);
      const found = lstatSync(join(folder, path));
      if (found.isDirectory()) return all(folder, path);
      if (found.isSymbolicLink()) return [`${path} is a link`];
      return [`${path} ${(found.mode & 0o777).toString(8)} ${readFileSync(join(folder, path)).toString('base64')}`];
    });
}

describe('a worktree of a folder', () => {
  it('is made without a program that the repository names', async () => {
    const tree = git(root, 'rev-parse', 'HEAD:src').trim();
    const settings = {
      'core.fsmonitor': `touch ${base}/ran-fsmonitor;#`,
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'far',
      'remote.far.promisor': 'true',
      'remote.far.url': root,
      'remote.far.uploadpack': `touch ${base}/ran-uploadpack;#`,
      'protocol.file.allow': 'always',
    };
    for (const [key, value] of Object.entries(settings)) git(root, 'config', key, value);
    // What is missing is fetched by it.
    rmSync(join(root, '.git/objects', tree.slice(0, 2), tree.slice(2)));
    await expect(worktreeCopies({ root }).open('one')).rejects.toThrow('git read-tree failed');
    expect(readdirSync(base).filter((name) => name.startsWith('ran'))).toEqual([]);
  });

  it('has its files byte for byte, committed or not, and nothing that git ignores', async () => {
    const copies = worktreeCopies({ root });
    const { folder } = await copies.open('one');
    expect(all(folder)).toEqual(all(root));
    expect(existsSync(join(folder, 'installed'))).toBe(false);
    expect(git(folder, 'rev-parse', 'HEAD')).toBe(git(root, 'rev-parse', 'HEAD'));
    expect(git(folder, 'status', '--porcelain')).toBe(git(root, 'status', '--porcelain'));
    expect((await copies.open('one')).folder).toBe(folder);
    expect((await worktreeCopies({ root }).open('one')).folder).toBe(folder);
  });

  it('is merged: changed, new, removed, renamed kinds, links and modes, and what is ignored stays', async () => {
    const copies = worktreeCopies({ root });
    const { folder } = await copies.open('one');
    const before = git(root, 'rev-parse', 'HEAD');
    writeFileSync(join(folder, 'a.txt'), 'by the branch\n');
    rmSync(join(folder, 'src', 'deep'), { recursive: true });
    writeFileSync(join(folder, 'src', 'deep'), 'a file now');
    rmSync(join(folder, 'new.txt'));
    rmSync(join(folder, 'link'));
    symlinkSync('src', join(folder, 'link'));
    chmodSync(join(folder, 'run.sh'), 0o644);
    mkdirSync(join(folder, 'more', 'and', 'more'), { recursive: true });
    writeFileSync(join(folder, 'more', 'and', 'more', 'b.txt'), 'b');
    writeFileSync(join(folder, '.gitignore'), 'installed/\nrun.sh\n');
    git(folder, 'add', '--all');
    git(folder, 'commit', '--quiet', '--message=of the branch');
    await copies.merge('one');
    expect(all(root)).toEqual(all(folder));
    expect(read(root, 'installed/big.js')).toBe('ignored');
    expect(git(root, 'rev-parse', 'HEAD')).toBe(before);
    await copies.merge('one');
    expect(all(root)).toEqual(all(folder));
  });

  it('is gone after its removal, for git too, and so is what a death left of one', async () => {
    const copies = worktreeCopies({ root });
    const { folder } = await copies.open('one');
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    await copies.remove('one');
    expect(existsSync(folder)).toBe(false);
    expect(git(root, 'worktree', 'list').trim().split('\n')).toHaveLength(1);
    await copies.remove('one');
    await expect(copies.merge('one')).rejects.toMatchObject({ code: 'not_selected' });
  });

  it('of a folder within the repository has all of it, and only that folder is merged', async () => {
    const copies = worktreeCopies({ root: join(root, 'src') });
    const { folder } = await copies.open('one');
    expect(read(folder, 'deep/old.txt')).toBe('old\r\n');
    writeFileSync(join(folder, 'deep', 'old.txt'), 'new');
    writeFileSync(join(folder, '..', 'a.txt'), 'outside');
    await copies.merge('one');
    expect(read(root, 'src/deep/old.txt')).toBe('new');
    expect(read(root, 'a.txt')).toBe('changed since\r\n');
  });

  it('runs no hooks, and heeds no variables that are meant for another repository', async () => {
    mkdirSync(join(root, '.git', 'hooks'), { recursive: true });
    write('.git/hooks/post-checkout', `#!/bin/sh\ntouch ${join(base, 'ran')}\n`);
    chmodSync(join(root, '.git/hooks/post-checkout'), 0o755);
    process.env['GIT_DIR'] = join(base, 'elsewhere');
    try {
      await worktreeCopies({ root }).open('one');
    } finally {
      delete process.env['GIT_DIR'];
    }
    expect(existsSync(join(base, 'ran'))).toBe(false);
  });

  it('is refused inside the root, outside of a repository, and before the first commit', async () => {
    expect(() => worktreeCopies({ root, folder: join(root, 'copies') })).toThrow("can't be kept inside");
    const plain = join(base, 'plain');
    mkdirSync(plain);
    const open = () => worktreeCopies({ root: plain }).open('one');
    await expect(open()).rejects.toMatchObject({ code: 'invalid_definition' });
    git(plain, 'init', '--quiet');
    await expect(open()).rejects.toThrow(/git worktree failed/);
    expect(readdirSync(base).toSorted()).toEqual(['.plain.branches', 'plain', 'project']);
    expect(readdirSync(join(base, '.plain.branches'))).toEqual([]);
  });
});

describe('branches in worktrees', () => {
  const writing = (place: number): BranchConfig => ({
    configId: `w${place}`,
    agent: ({ folder }) =>
      defineAgent({
        configId: `w${place}`,
        model: scriptedModel([
          {
            toolCalls: [
              { name: 'write_file', arguments: { path: `out-${place}.txt`, content: `by ${place}` } },
              { name: 'read_file', arguments: { path: 'a.txt' } },
            ],
          },
          { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: `changed by ${place}` } }] },
          `I am ${place}.`,
        ]),
        tools: folder === null ? [] : [readFileTool({ root: folder }), writeFileTool({ root: folder })],
        permissions: { mode: 'acceptEdits' },
      }),
  });

  it('merge the winner byte for byte, leave the losers as they are, and any of them can be promoted', async () => {
    const copies = worktreeCopies({ root });
    const session = await createSession(defineAgent({ model: scriptedModel([]) }));
    const branches = [0, 1, 2, 3].map((place) => writing(place));
    const run = runBranches(session, { branches, prompt: 'Write.', copies, strategy: chosenBy(() => 2) });
    expect((await run.result).text).toBe('I am 2.');
    const outcomes = await run.outcomes;
    const folders = outcomes.map(({ folder }) => folder ?? '');
    expect(all(root)).toEqual(all(folders[2] ?? ''));
    expect(statSync(join(root, 'out-2.txt')).isFile()).toBe(true);
    for (const place of [0, 1, 3]) {
      expect(existsSync(join(root, `out-${place}.txt`))).toBe(false);
      expect(read(folders[place] ?? '', 'a.txt')).toBe(`changed by ${place}`);
    }
    await promoteBranch(session, outcomes[0]?.sessionId ?? '', { copies });
    expect(all(root)).toEqual(all(folders[0] ?? ''));
    for (const { sessionId } of outcomes) await copies.remove(sessionId);
    expect(git(root, 'worktree', 'list').trim().split('\n')).toHaveLength(1);
  });
});
