import { type Clock, systemClock } from '@treadle/core';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listFilesTool } from '../file-tools.ts';
import { call, workspace } from '../test-support/workspace.ts';

const tree = {
  'README.md': 'x'.repeat(5),
  'src/a.ts': 'x'.repeat(1000),
  'src/b.ts': 'x'.repeat(20),
  'src/deep/er/c.ts': 'x'.repeat(20),
  'src/deep/er/still/d.ts': 'x',
  'node_modules/pkg/index.js': 'x',
  '.git/HEAD': 'x',
  'src/dist/out.js': 'x',
};

describe('list_files', () => {
  test('lists files and folders three deep, by path, with sizes', async () => {
    const { root } = await workspace(tree);
    const { text, details } = await call(listFilesTool({ root }), {});
    expect(text).toBe(
      [
        '   5  README.md',
        '   -  src/',
        '1000  src/a.ts',
        '  20  src/b.ts',
        '   -  src/deep/',
        '   -  src/deep/er/',
        '[1 folder at max_depth 3 not opened; raise max_depth to see more]',
        '[not listed: .git, dist, node_modules]',
      ].join('\n'),
    );
    expect(details).toMatchObject({ total: 6, truncated: false });
    expect(details['entries']).toContainEqual({ path: 'src/a.ts', bytes: 1000, type: 'file' });
    expect(details['entries']).toContainEqual({ path: 'src', bytes: 0, type: 'directory' });
  });

  test('by size lists only files, largest first, ties by path', async () => {
    const { root } = await workspace(tree);
    const { text, details } = await call(listFilesTool({ root }), {
      path: 'src',
      sort: 'size',
      max_depth: 30,
      limit: 3,
    });
    expect(text.split('\n').slice(0, 3)).toEqual(['1000  src/a.ts', '  20  src/b.ts', '  20  src/deep/er/c.ts']);
    expect(text).toContain('[3 of 4 entries shown');
    expect(details).toMatchObject({ total: 4, truncated: true });
  });

  test('by modified lists the newest first', async () => {
    const { root } = await workspace({ a: '', b: '', c: '' });
    for (const [name, at] of Object.entries({ a: 1000, b: 3000, c: 2000 })) await utimes(join(root, name), at, at);
    expect((await call(listFilesTool({ root }), { sort: 'modified' })).text).toBe('0  b\n0  c\n0  a');
  });

  test.each([
    ['*.ts', ['src/a.ts', 'src/b.ts', 'src/deep/er/c.ts', 'src/deep/er/still/d.ts']],
    ['src/*.ts', ['src/a.ts', 'src/b.ts']],
    ['src/**/*.ts', ['src/a.ts', 'src/b.ts', 'src/deep/er/c.ts', 'src/deep/er/still/d.ts']],
    ['**/er/*.ts', ['src/deep/er/c.ts']],
    ['{README,src/?}.{md,ts}', ['README.md', 'src/a.ts', 'src/b.ts']],
    ['[!a].ts', ['src/b.ts', 'src/deep/er/c.ts', 'src/deep/er/still/d.ts']],
  ])('pattern %s', async (pattern, paths) => {
    const { root } = await workspace(tree);
    const { details } = await call(listFilesTool({ root }), { pattern, max_depth: 30 });
    expect((details['entries'] as { path: string }[]).map((entry) => entry.path)).toEqual(paths);
  });

  test('a pattern may be meant from the listed folder or from the root', async () => {
    const { root } = await workspace(tree);
    for (const pattern of ['deep/er/*.ts', 'src/deep/er/*.ts']) {
      const { text } = await call(listFilesTool({ root }), { path: 'src', pattern, max_depth: 30 });
      expect(text.split('\n')[0]).toBe('20  src/deep/er/c.ts');
    }
  });

  test('a skipped folder can be listed by name, and what is skipped is an option', async () => {
    const { root } = await workspace(tree);
    expect((await call(listFilesTool({ root }), { path: 'node_modules/pkg' })).text).toBe(
      '1  node_modules/pkg/index.js',
    );
    const { text } = await call(listFilesTool({ root, skipFolders: ['src'] }), {});
    expect(text).toContain('.git/HEAD');
    expect(text).toContain('[not listed: src]');
  });

  test('names with control characters stay on their line', async () => {
    const { root } = await workspace({ 'a\nb\u001b[31m': '' });
    expect((await call(listFilesTool({ root }), {})).text).toBe('0  a\nb␛[31m'.replace('\n', '␊'));
  });

  test('the sort and the total are right when far more is found than is kept', async () => {
    const names = Array.from({ length: 3000 }, (_, index) => `${String((index * 7919) % 3000).padStart(4, '0')}.txt`);
    const { root } = await workspace(Object.fromEntries(names.map((name) => [name, ''])));
    const { text, details } = await call(listFilesTool({ root }), { limit: 2 });
    expect(text.split('\n').slice(0, 2)).toEqual(['0  0000.txt', '0  0001.txt']);
    expect(details).toMatchObject({ total: 3000, truncated: true });
  });

  test('an empty folder says so', async () => {
    const { root } = await workspace();
    expect((await call(listFilesTool({ root }), {})).text).toBe('.: nothing found.');
  });

  test('a file or a missing folder is an error', async () => {
    const { root } = await workspace(tree);
    const tool = listFilesTool({ root });
    expect((await call(tool, { path: 'README.md' })).details['problem']).toBe('not_directory');
    expect((await call(tool, { path: 'scr' })).text).toBe('scr does not exist. Near names: src.');
    expect((await call(tool, { pattern: '!x' })).details['problem']).toBe('bad_request');
  });

  test('stops at its time limit with what it has, and says so', async () => {
    const { root } = await workspace(tree);
    const atOnce: Clock = {
      now: systemClock.now,
      after: (_ms, fn) => {
        fn();
        return () => {};
      },
    };
    const { text, details } = await call(listFilesTool({ root, clock: atOnce }), {});
    expect(text).toContain('[stopped after 10 s: the list is incomplete');
    expect(details['truncated']).toBe(true);
  });

  test('stops when the call is aborted', async () => {
    const { root } = await workspace(tree);
    const answer = await call(listFilesTool({ root }), {}, { signal: AbortSignal.abort() });
    expect(answer).toMatchObject({ isError: true, details: { problem: 'aborted' } });
  });
});
