import { spawn } from 'node:child_process';
import { link, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { editFileTool, listFilesTool, readFileTool, writeFileTool } from '../file-tools.ts';
import { openRoot } from '../index.ts';
import { searchTool } from '../search-tool.ts';
import { call, workspace, type Answer, type Workspace } from '../test-support/workspace.ts';
import type { Holding } from './directory.ts';

const holdings: readonly Holding[] = process.platform === 'linux' ? ['descriptor', 'path'] : ['path'];

/** Tries all five file tools on one path; returns their answers by name. */
async function everyTool(place: Workspace, path: string, holding: Holding): Promise<Record<string, Answer>> {
  const root = openRoot(place.root, { holding });
  const noRipgrep = { root, findRipgrep: () => Promise.resolve(undefined) };
  return {
    read: await call(readFileTool({ root }), { path }),
    write: await call(writeFileTool({ root }), { path, content: 'written by a tool' }, { knows: place.root }),
    edit: await call(editFileTool({ root }), { path, old_text: 'SECRET', new_text: 'CHANGED' }, { knows: place.root }),
    list: await call(listFilesTool({ root }), { path }),
    search: await call(searchTool(noRipgrep), { pattern: 'SECRET', path }),
  };
}

async function expectRefused(place: Workspace, path: string, holding: Holding, problem: string): Promise<void> {
  for (const [name, answer] of Object.entries(await everyTool(place, path, holding))) {
    expect({ name, path, ...answer }).toMatchObject({ isError: true, details: { problem } });
    expect(answer.text).not.toContain('SECRET outside');
  }
  expect(await readFile(join(place.outside, 'secret.txt'), 'utf8')).toBe('SECRET outside\n');
  expect(await readdir(place.outside)).toEqual(['secret.txt']);
}

describe.each(holdings)('T20: paths, holding directories by %s', (holding) => {
  test.each([
    ['..', 'the parent'],
    ['../outside/secret.txt', 'a path through the parent'],
    ['sub/../../outside/secret.txt', 'a path that climbs out from below'],
    ['./././../outside', 'dots before the climb'],
    ['..//outside/secret.txt', 'doubled slashes'],
    ['~', 'the home folder'],
    ['~/.ssh/id_rsa', 'a path in the home folder'],
    ['~root/x', "somebody's home folder"],
    ['/etc/passwd', 'an absolute path'],
    ['/', 'the root of the file system'],
    ['/proc/self/root/etc/passwd', "the process's own root"],
    ['/proc/self/cwd/package.json', "the process's own folder"],
    ['/proc/self/environ', "the process's own environment"],
  ])('%s is refused (%s)', async (path) => {
    const place = await workspace({ 'sub/a.txt': 'a' });
    await expectRefused(place, path, holding, 'outside_root');
  });

  test('a path beside the root that begins like it is refused', async () => {
    const place = await workspace();
    await place.put('root-2/secret.txt', 'SECRET outside\n');
    await expectRefused(place, `${place.root}-2/secret.txt`, holding, 'outside_root');
  });

  test('the root through /proc/self/root is refused, though it leads inside', async () => {
    const place = await workspace({ 'a.txt': 'SECRET' });
    await expectRefused(place, `/proc/self/root${place.root}/a.txt`, holding, 'outside_root');
  });

  test.each(['a\0b', '/etc/passwd\0.txt', '\ud800.txt', ''])('%j is no path', async (path) => {
    await expectRefused(await workspace(), path, holding, 'bad_path');
  });

  test.each(['\uff0e\uff0e/outside/secret.txt', '\u2025/outside/secret.txt', '..\\outside\\secret.txt'])(
    '%s looks like a way out but is only a name',
    async (path) => {
      const place = await workspace();
      const root = openRoot(place.root, { holding });
      expect((await call(readFileTool({ root }), { path })).details['problem']).toBe('not_found');
      expect((await call(writeFileTool({ root }), { path, content: 'x' })).isError).toBe(false);
      expect(await readdir(place.outside)).toEqual(['secret.txt']);
    },
  );

  test('a name in other case or another Unicode form is another name, never a way out', async () => {
    const place = await workspace({ 'caf\u00e9/a.txt': 'SECRET inside' });
    await symlink(place.outside, join(place.root, 'cafe\u0301'));
    const root = openRoot(place.root, { holding });
    expect((await call(readFileTool({ root }), { path: 'caf\u00e9/a.txt' })).text).toContain('SECRET inside');
    await expectRefused(place, 'cafe\u0301/secret.txt', holding, 'outside_root');
    await expectRefused(place, place.root.toUpperCase(), holding, 'outside_root');
  });
});

describe.each(holdings)('T20: links, holding directories by %s', (holding) => {
  test.each([
    ['a link to a file outside', 'link', (place: Workspace) => join(place.outside, 'secret.txt')],
    ['a relative link to a file outside', 'link', () => '../outside/secret.txt'],
    ['a link to / and on', 'link/etc/passwd', () => '/'],
    ['a link to the process itself', 'link/root/etc/passwd', () => '/proc/self'],
    ['a link that climbs out and comes back', 'link', (place: Workspace) => `../../${place.root}/a.txt`],
  ])('%s is refused', async (_name, path, target) => {
    const place = await workspace({ 'a.txt': 'a' });
    await symlink(target(place), join(place.root, 'link'));
    await expectRefused(place, path, holding, 'outside_root');
  });

  test('a file below a linked folder outside is refused, present or not', async () => {
    const place = await workspace();
    await symlink(place.outside, join(place.root, 'folder'));
    await expectRefused(place, 'folder/secret.txt', holding, 'outside_root');
    await expectRefused(place, 'folder/new.txt', holding, 'outside_root');
  });

  test('a chain of links is refused where it leaves', async () => {
    const place = await workspace();
    await symlink('two', join(place.root, 'one'));
    await symlink('three', join(place.root, 'two'));
    await symlink(place.outside, join(place.root, 'three'));
    await expectRefused(place, 'one/secret.txt', holding, 'outside_root');
  });

  test('a dangling link to outside is not written through', async () => {
    const place = await workspace();
    await symlink(join(place.outside, 'new.txt'), join(place.root, 'link'));
    await expectRefused(place, 'link', holding, 'outside_root');
  });

  test('a loop of links ends', async () => {
    const place = await workspace();
    await symlink('b', join(place.root, 'a'));
    await symlink('a', join(place.root, 'b'));
    await expectRefused(place, 'a', holding, 'bad_path');
  });

  test('a hard link to a file outside is refused, and allowed when the option says so', async () => {
    const place = await workspace();
    await link(join(place.outside, 'secret.txt'), join(place.root, 'hard.txt'));
    const root = openRoot(place.root, { holding });
    for (const tool of [readFileTool({ root }), writeFileTool({ root }), editFileTool({ root })]) {
      const args = { path: 'hard.txt', content: 'x', old_text: 'SECRET', new_text: 'x' };
      const keys = Object.keys(tool.inputSchema['properties'] ?? {}) as (keyof typeof args)[];
      const answer = await call(
        tool,
        Object.fromEntries(keys.filter((key) => key in args).map((key) => [key, args[key]])),
      );
      expect(answer.details['problem']).toBe('hard_link');
    }
    const found = await call(searchTool({ root, findRipgrep: () => Promise.resolve(undefined) }), {
      pattern: 'SECRET',
    });
    expect(found.text).toBe('No matching lines.\n[1 file with several hard links not searched]');
    expect(await readFile(join(place.outside, 'secret.txt'), 'utf8')).toBe('SECRET outside\n');
    const open = openRoot(place.root, { holding, hardLinks: 'allow' });
    expect((await call(readFileTool({ root: open }), { path: 'hard.txt' })).text).toContain('SECRET outside');
  });

  test('links that stay inside work, also absolute ones and ones with ..', async () => {
    const place = await workspace({ 'a/b/file.txt': 'inside\n' });
    await symlink('a/b', join(place.root, 'short'));
    await symlink('../a/b/file.txt', join(place.root, 'a', 'up.txt'));
    await symlink(join(place.root, 'a'), join(place.root, 'absolute'));
    const root = openRoot(place.root, { holding });
    for (const path of ['short/file.txt', 'a/up.txt', 'absolute/b/file.txt', join(place.root, 'short/file.txt')]) {
      expect((await call(readFileTool({ root }), { path })).text).toContain('   1\tinside');
    }
    expect((await call(listFilesTool({ root }), { path: 'short' })).text).toContain('7  short/file.txt');
    await call(writeFileTool({ root }), { path: 'short/file.txt', content: 'written\n' }, { knows: place.root });
    expect(await readFile(join(place.root, 'a/b/file.txt'), 'utf8')).toBe('written\n');
  });

  test('walks do not follow links', async () => {
    const place = await workspace({ 'a.txt': 'a' });
    await symlink(place.outside, join(place.root, 'away'));
    await symlink('.', join(place.root, 'self'));
    const root = openRoot(place.root, { holding });
    const listed = await call(listFilesTool({ root }), { max_depth: 30 });
    expect(listed.text).toBe('1  a.txt\n-  away (symbolic link)\n-  self (symbolic link)');
    const found = await call(searchTool({ root, findRipgrep: () => Promise.resolve(undefined) }), {
      pattern: 'SECRET',
    });
    expect(found.details['matches']).toEqual([]);
  });

  test('a root that is itself reached through a link works by both of its names', async () => {
    const place = await workspace({ 'a.txt': 'inside' });
    const alias = join(place.root, '..', 'alias');
    await symlink(place.root, alias);
    const root = openRoot(alias, { holding });
    expect(root.path).toBe(place.root);
    for (const path of ['a.txt', join(alias, 'a.txt'), join(place.root, 'a.txt')]) {
      expect((await call(readFileTool({ root }), { path })).text).toContain('inside');
    }
  });
});

test.runIf(process.platform === 'linux')(
  'pipes, sockets and devices are refused without being waited for',
  async () => {
    const place = await workspace();
    await new Promise((resolve) => spawn('mkfifo', [join(place.root, 'pipe')]).once('exit', resolve));
    const answer = await call(readFileTool({ root: place.root }), { path: 'pipe' });
    expect(answer.details['problem']).toBe('not_regular');
  },
);

describe('roots', () => {
  test('a root that is no folder is refused at once', async () => {
    const place = await workspace({ 'a.txt': 'a' });
    for (const folder of ['', join(place.root, 'missing'), join(place.root, 'a.txt')]) {
      expect(() => openRoot(folder)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
    }
  });
});
