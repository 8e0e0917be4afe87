import { execFile } from 'node:child_process';
import { link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { deletions } from '../../test-support/deletions.ts';
import { workspace } from '../../test-support/workspace.ts';
import { commandAccess, type CommandFacts } from './command-access.ts';
import { foreignSetting } from './git-settings.ts';
import { loadRules } from './rule.ts';
import { readOnlyRules } from './rules.ts';

const environment = { PATH: '/usr/local/bin:/usr/bin:/bin' };
const settings = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n';

/** A folder that is a repository as far as its settings go. */
async function repository(
  config = settings,
): Promise<{ root: string; facts: (text: string) => Promise<CommandFacts> }> {
  const { root } = await workspace({ 'a.txt': 'a', 'src/b.txt': 'b', '.git/config': config, '.git/HEAD': 'ref: x\n' });
  return { root, facts: (text) => commandAccess(text, { root, environment }) };
}

test('rules say what their examples say, and have some', () => {
  const rules = [...readOnlyRules().values()];
  expect(rules.length).toBeGreaterThan(40);
  for (const { match, noMatch } of rules) expect(Math.min(match.length, noMatch.length)).toBeGreaterThan(0);
});

test('a rule whose examples say otherwise is refused', () => {
  const rule = { command: 'ls', operands: 'none' } as const;
  expect(() => loadRules([{ ...rule, match: ['ls x'], noMatch: [] }])).toThrow('does not allow its example: ls x');
  expect(() => loadRules([{ ...rule, match: ['ls'], noMatch: ['ls'] }])).toThrow('allows its example: ls');
});

describe('what only looks runs without being asked for', () => {
  test.each([
    'ls -la',
    'pwd',
    'cat a.txt src/b.txt',
    'ls src | wc -l',
    'grep -rn "x" src 2>/dev/null | head -20',
    'find . -name "*.txt" -type f | sort | uniq -c',
    'git status && git diff --stat',
    'git log --oneline -5 -- src',
    "sed -n '1,20p' a.txt",
    'cd src && cat b.txt',
    'echo "---"; cat a.txt',
    'test -f a.txt && echo yes || echo no',
    'diff a.txt src/b.txt',
    'cat missing.txt',
    'stat -c %s a.txt',
    'head -c 100 < /dev/null',
    'sort -u a.txt | tr a-z A-Z | cut -c1-5',
  ])('%s', async (text) => {
    const { facts } = await repository();
    expect(await facts(text)).toMatchObject({ readOnly: true, commands: { text } });
  });
});

describe('everything else is asked for', () => {
  test.each([
    'rm a.txt',
    'touch x',
    'npm test',
    'cat a.txt; rm a.txt',
    'ls | sh',
    'cat a.txt | tee b.txt',
    'find . -delete',
    'find . -exec cat {} ;',
    'find . -fprint x',
    'find -- . -name victim -delete',
    "find -- . -maxdepth 0 -exec sh -c 'id > x' ';'",
    'find -- . -maxdepth 0 -fprint x',
    "test -- -a -v 'a[$(touch x)]'",
    "test ! -- -a -v 'a[$(touch x)]'",
    "test -v 'a[$(touch x)]'",
    "printf 'x%n' PATH; ls",
    "printf '%5ln' GIT_DIR; git status",
    'sort -o a.txt a.txt',
    'uniq a.txt b.txt',
    'git -c core.pager=x log',
    'git log --output=x',
    'git log --outp=x',
    'git diff --ext-diff',
    'git show --textconv',
    'git grep --open-files-in-pager=sh x',
    'git grep -Osh x',
    'git branch new',
    'git commit -m x',
    'git config --get x',
    'git diff --no-index a.txt src/b.txt',
    'rg --pre sh x',
    'tail -f a.txt',
    'date -s 12:00',
    'sed -i s/a/b/ a.txt',
    "sed -n 'w x' a.txt",
    'env',
    'printenv',
    'curl example.com',
    'man ls',
    'less a.txt',
    'awk 1 a.txt',
    'ls > out.txt',
    './ls',
    '/bin/ls',
    'cd -',
    'cd',
    'cd src extra',
  ])('%s', async (text) => {
    const { facts } = await repository();
    expect(await facts(text)).toMatchObject({ readOnly: false, reason: expect.stringMatching(/./) });
  });

  test('T17: each of 40 and more spellings of one deletion', async () => {
    const { facts } = await repository();
    expect(deletions.length).toBeGreaterThanOrEqual(40);
    for (const { name, command } of deletions) {
      expect({ name, command, readOnly: (await facts(command)).readOnly }).toEqual({ name, command, readOnly: false });
    }
  });

  test('T18: one command among hundreds', async () => {
    const { facts } = await repository();
    const text = `${'ls && '.repeat(300)}rm -rf src`;
    const { readOnly, commands } = await facts(text);
    expect(readOnly).toBe(false);
    expect(commands.named.at(-1)).toEqual(['rm', '-rf', 'src']);
    expect(commands.plain?.at(-1)).toEqual({ words: ['rm', '-rf', 'src'] });
    expect(commands.plain?.[0]).toEqual({ words: ['ls'] });
  });
});

describe('reading outside of the working folder is asked for', () => {
  test.each([
    'cat /etc/shadow',
    'cat /etc/passwd',
    `cat ${homedir()}/.ssh/id_rsa`,
    'cat ~/.ssh/id_rsa',
    'cat ../outside/secret.txt',
    'cat src/../../outside/secret.txt',
    'ls ..',
    'ls /',
    'head -n 5 ../outside/secret.txt',
    'grep -r x ..',
    'grep x -- ../outside/secret.txt',
    'cat /proc/self/environ',
    'find / -name x',
    'find src .. -name x',
    'rg x /etc',
    'rg --files /etc',
    'rg --hidden --files ../outside',
    'cd .. && ls',
    'cd src && cat ../../outside/secret.txt',
    'cd ../outside; cat secret.txt',
    'cd missing; cat ../../outside/secret.txt',
    'date -r /etc/shadow',
    'test -e /etc/shadow',
    'git diff -- /etc/passwd',
    'diff a.txt /etc/passwd',
    "sed -n '1p' /etc/passwd",
    'cat link',
    'cat folder/secret.txt',
    'cat dangling',
  ])('%s', async (text) => {
    const place = await workspace({ 'a.txt': 'a', 'src/b.txt': 'b', '.git/config': settings });
    await symlink(join(place.outside, 'secret.txt'), join(place.root, 'link'));
    await symlink(place.outside, join(place.root, 'folder'));
    await symlink('../outside/not-there', join(place.root, 'dangling'));
    expect(await commandAccess(text, { root: place.root, environment })).toMatchObject({ readOnly: false });
  });

  test('paths are told by where they really lead, and as they are written', async () => {
    const place = await workspace({ 'real/a.txt': 'a' });
    await symlink('real', join(place.root, 'alias'));
    const { readOnly, paths } = await commandAccess('cat alias/a.txt', { root: place.root, environment });
    expect(readOnly).toBe(true);
    expect(paths).toEqual([
      { path: join(place.root, 'real/a.txt'), given: join(place.root, 'alias/a.txt'), write: false },
    ]);
    const { paths: walked } = await commandAccess('grep -r x', { root: place.root, environment });
    expect(walked).toEqual([{ path: place.root, write: false, recursive: true }]);
  });
});

describe('a program of the working folder is asked for', () => {
  test.each([
    ['first on PATH', (root: string) => `${root}/bin:/usr/bin:/bin`],
    ['through a link', (root: string) => `${root}/../alias:/usr/bin:/bin`],
    ['by a relative entry', () => 'bin:/usr/bin:/bin'],
    ['by an empty entry', () => ':/usr/bin:/bin'],
  ])('%s', async (_name, path) => {
    const place = await workspace();
    await place.put('root/bin/ls', '#!/bin/sh\n', 0o755);
    await symlink(join(place.root, 'bin'), join(place.root, '../alias'));
    const facts = (text: string): Promise<CommandFacts> =>
      commandAccess(text, { root: place.root, environment: { PATH: path(place.root) } });
    expect(await facts('ls')).toMatchObject({ readOnly: false });
    // Part of the shell, so no file decides.
    expect(await facts('pwd')).toMatchObject({ readOnly: true });
  });

  test('and so is a change of folder that a variable leads elsewhere', async () => {
    const { root } = await workspace();
    const moved = await commandAccess('cd src', { root, environment: { ...environment, CDPATH: '/etc' } });
    expect(moved.readOnly).toBe(false);
  });
});

describe('git is asked for where the repository may run something', () => {
  test.each([
    '[core]\n\tfsmonitor = ./evil\n',
    '[core]\n\tpager = ./evil\n',
    '[core]\n\thooksPath = evil\n',
    '[CORE]\n\tFSMonitor=./evil\n',
    '[core] fsmonitor = ./evil\n',
    '[diff]\n\texternal = ./evil\n',
    '[diff "x"]\n\ttextconv = ./evil\n',
    '[diff "x"]\n\tcommand = ./evil\n',
    '[filter "x"]\n\tclean = ./evil\n',
    '[include]\n\tpath = ../evil\n',
    '[includeIf "gitdir:x"]\n\tpath = ../evil\n',
    '[gpg]\n\tprogram = ./evil\n',
    '[log]\n\tshowSignature = true\n',
    '[core]\n\tworktree = ../elsewhere\n',
    '[user]\n\tname = a\\\n\tfsmonitor = x\n',
    '[extensions]\n\tpartialClone = origin\n',
    '[alias]\n\tst = !evil\n',
    'fsmonitor = x\n',
  ])('%j', async (more) => {
    const { facts } = await repository(`${settings}${more}`);
    expect(await facts('git status')).toMatchObject({
      readOnly: false,
      reason: expect.stringContaining("repository's"),
    });
  });

  test('usual settings are harmless', () => {
    const usual =
      '; note\n[remote "origin"]\n\turl = https://x/y\n\tfetch = +refs/heads/*\n[branch "main"]\n\tremote = origin\n';
    expect(foreignSetting(`${settings}${usual}[user]\n\tname = A B\n`)).toBeUndefined();
  });

  test('settings of one work tree count too', async () => {
    const place = await workspace({
      '.git/config': settings,
      '.git/config.worktree': '[core]\n\tfsmonitor = ./evil\n',
    });
    expect((await commandAccess('git status', { root: place.root, environment })).reason).toBe(
      "the repository's settings have core.fsmonitor, which may run a program",
    );
  });

  test.each<[string, Record<string, string>, string]>([
    ['shares the directory of another one', { '.git/config': settings, '.git/commondir': '../../outside/.git' }, '.'],
    [
      'is named by a file that the other side does not confirm',
      { '.git': 'gitdir: ../outside/.git/worktrees/x\n' },
      '.',
    ],
    ['is the folder itself', { 'bare/HEAD': '', 'bare/objects/x': '' }, 'bare'],
  ])('where the repository %s', async (_name, files, folder) => {
    const place = await workspace(files);
    await place.put('outside/.git/config', settings);
    await place.put('outside/.git/worktrees/x/commondir', '../..\n');
    await place.put('outside/.git/worktrees/x/gitdir', '/elsewhere/.git\n');
    const facts = await commandAccess('git status', { root: join(place.root, folder), environment });
    expect(facts.reason).toBe('the repository is kept elsewhere');
  });

  test('where there is none', async () => {
    const { root } = await workspace();
    expect((await commandAccess('git status', { root, environment })).reason).toBe('there is no repository');
  });

  test('where it holds the home folder', async () => {
    const { root } = await workspace();
    vi.stubEnv('HOME', root);
    await mkdir(join(root, '.git'));
    await writeFile(join(root, '.git/config'), settings);
    await mkdir(join(root, 'project'));
    expect((await commandAccess('git status', { root: join(root, 'project'), environment })).reason).toBe(
      `the repository is ${root}, which holds more than a project`,
    );
    vi.unstubAllEnvs();
  });
});

test('a repository above the working folder that belongs to another user is asked about', async () => {
  const { root } = await workspace({ '.git/config': settings, 'sub/a.txt': '' });
  vi.spyOn(process, 'getuid').mockReturnValue(12_345);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const reason = async (folder: string): Promise<string | undefined> =>
    (await commandAccess('git status', { root: folder, environment })).reason;
  expect(await reason(join(root, 'sub'))).toBe(`the repository ${root} belongs to another user`);
  expect(await reason(root)).toBeUndefined();
});

describe('what a command needs to see beside the working folder', () => {
  const git = async (...args: string[]): Promise<void> => {
    await promisify(execFile)('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
  };

  test('for git it is the root of the work tree and the git directory', async () => {
    const { root } = await workspace({ '.git/config': settings, 'sub/a.txt': '' });
    const { readOnly, view } = await commandAccess('git log', { root: join(root, 'sub'), environment });
    expect({ readOnly, view }).toEqual({
      readOnly: true,
      view: expect.arrayContaining([root, join(root, '.git')]),
    });
  });

  test('for git in a linked work tree it is the directory that all of them share', async () => {
    const { root } = await workspace();
    const [main, linked] = [join(root, 'main'), join(root, 'linked')];
    await git('init', '-q', main);
    await git('-C', main, 'commit', '-q', '--allow-empty', '-m', 'x');
    await git('-C', main, 'worktree', 'add', '-q', linked);
    const { readOnly, view } = await commandAccess('git log', { root: linked, environment });
    expect({ readOnly, view }).toEqual({
      readOnly: true,
      view: expect.arrayContaining([join(main, '.git'), join(main, '.git/worktrees/linked')]),
    });
    expect(view).not.toContain(main);
  });

  test('for a program it is its own file, and where a link leads', async () => {
    const place = await workspace();
    await place.put('outside/real', '#!/bin/sh\n', 0o755);
    await place.put('outside/bin/keep', '');
    await symlink('../real', join(place.outside, 'bin/rg'));
    const PATH = `${place.outside}/bin:/usr/bin:/bin`;
    for (const command of ['rg x', 'which rg']) {
      const { view } = await commandAccess(command, { root: place.root, environment: { PATH } });
      expect(view).toEqual(expect.arrayContaining([join(place.outside, 'bin/rg'), join(place.outside, 'real')]));
    }
  });
});

describe('beside a command that a rule allows', () => {
  test.each(['echo done', 'cd .', 'head -20', 'grep -c x', 'sort -u', 'printf %s a', "sed -n '1,3p'"])(
    '%s needs no rule',
    async (text) => {
      const { facts } = await repository();
      expect((await facts(text)).commands.plain).toMatchObject([{ harmless: true }]);
    },
  );

  test.each([
    'ls',
    'cat a.txt',
    'head -20 a.txt',
    'grep -r x',
    'find . -name x',
    'git status',
    'test -f a.txt',
    'cd ..',
    'cd src',
  ])('%s needs one of its own, for it reads files or moves to other ones', async (text) => {
    const { facts } = await repository();
    expect((await facts(text)).commands.plain).toEqual([{ words: text.split(' ') }]);
  });
});

describe('what goes into a command that a rule allows', () => {
  test.each<[command: string, harmless: (true | undefined)[]]>([
    ['echo "drop table a" | sqlite3 db', [undefined, undefined]],
    ['echo a | tr a b | sqlite3 db', [undefined, undefined, undefined]],
    ['echo a; sqlite3 db | tail -5 | sort', [true, undefined, true, true]],
    ['echo a || sqlite3 db', [true, undefined]],
    ['cd src && ./test.sh', [undefined, undefined]],
  ])('needs a rule of its own: %s', async (text, harmless) => {
    const { facts } = await repository();
    expect((await facts(text)).commands.plain?.map((command) => command.harmless)).toEqual(harmless);
  });
});

describe('paths are followed as the kernel follows them', () => {
  test('a folder above a link is the one that the link leads to', async () => {
    const place = await workspace({ 'a.txt': 'a', 'deep/er/b.txt': 'b' });
    await symlink(join(place.outside, 'x'), join(place.root, 'out'));
    await symlink('deep/er', join(place.root, 'in'));
    await place.put('outside/x/y', '');
    const facts = (text: string): Promise<CommandFacts> => commandAccess(text, { root: place.root, environment });
    expect((await facts('cat out/../secret.txt')).readOnly).toBe(false);
    expect((await facts('cat in/../../../outside/secret.txt')).readOnly).toBe(false);
    expect((await facts('cat in/../a.txt')).paths).toMatchObject([{ path: join(place.root, 'deep/a.txt') }]);
    expect((await facts('cd in && cat ../a.txt')).readOnly).toBe(false);
  });

  test('a pipe is asked for: its writer may be anybody', async () => {
    const { root } = await workspace();
    await promisify(execFile)('mkfifo', [join(root, 'pipe')]);
    expect((await commandAccess('head -c 1 pipe', { root, environment })).reason).toBe(
      `${join(root, 'pipe')} is a device, socket or pipe`,
    );
  });

  test('a file with several names, and a folder where only files are safe, are asked for', async () => {
    const place = await workspace({ 'a.txt': 'a', 'dir/b.txt': 'b' });
    await link(join(place.outside, 'secret.txt'), join(place.root, 'hard.txt'));
    const facts = (text: string): Promise<CommandFacts> => commandAccess(text, { root: place.root, environment });
    expect((await facts('cat hard.txt')).reason).toBe(`${join(place.root, 'hard.txt')} has several hard links`);
    expect((await facts('diff -N dir a.txt')).reason).toBe(`${join(place.root, 'dir')} is a folder`);
    expect((await facts('rg --files ..')).readOnly).toBe(false);
  });
});
