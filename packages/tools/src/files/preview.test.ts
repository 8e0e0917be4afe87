import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { changeProblem, previewChange } from './preview.ts';

let folder: string;
beforeAll(async () => {
  const base = await mkdtemp(join(tmpdir(), 'treadle-preview-'));
  folder = join(base, 'root');
  await mkdir(folder);
  await writeFile(join(base, 'secret'), 'hidden\n');
  await symlink(join(base, 'secret'), join(folder, 'link'));
  await writeFile(join(folder, 'a.txt'), 'one\ntwo\nthree\nfour\nfive\n');
  await writeFile(join(folder, 'crlf.txt'), 'one\r\ntwo\r\n');
  await writeFile(join(folder, 'binary'), new Uint8Array([0, 1, 2, 0xff]));
});
afterAll(() => rm(join(folder, '..'), { recursive: true }));

const edit = (path: string, from: string, to: string): Promise<string | null> =>
  previewChange(folder, 'edit_file', { path, old_text: from, new_text: to });

describe('a look at a change', () => {
  it('is a diff with what stands around it', async () => {
    expect(await edit('a.txt', 'four', '4')).toBe(
      '--- a.txt\n+++ a.txt\n@@ -1,5 +1,5 @@\n one\n two\n three\n-four\n+4\n five',
    );
  });

  it('is of a whole file that is written, new or there already', async () => {
    const write = (path: string): Promise<string | null> =>
      previewChange(folder, 'write_file', { path, content: 'one\n2\n' });
    expect(await write('new/b.txt')).toBe('--- new/b.txt\n+++ new/b.txt\n@@ -0,0 +1,2 @@\n+one\n+2');
    expect(await write('a.txt')).toContain('-two\n-three\n-four\n-five\n+2');
  });

  it('leaves nothing out of a long change, and nothing of a line', async () => {
    const content = `${'x'.repeat(5000)}\u0007\n`.repeat(900);
    const diff = await previewChange(folder, 'write_file', { path: 'long.txt', content });
    expect(diff?.split('\n').slice(3)).toEqual(Array.from({ length: 900 }, () => `+${'x'.repeat(5000)}\u0007`));
  });

  it.each([
    ['the text is not there', 'a.txt', 'six', 'x'],
    ['the text is there twice', 'a.txt', 'e', 'x'],
    ['the file is not there', 'gone.txt', 'a', 'b'],
    ['the file is binary', 'binary', 'a', 'b'],
    ['the path leads out', '../secret', 'hidden', 'b'],
    ['a link leads out', 'link', 'hidden', 'b'],
    ['there is nothing to replace', 'a.txt', '', 'b'],
  ])('is none where %s', async (_, path, from, to) => {
    expect(await edit(path, from, to)).toBeNull();
  });

  it('is none where a diff would not tell all: line ends that change', async () => {
    expect(await previewChange(folder, 'write_file', { path: 'crlf.txt', content: 'one\n2\n' })).toBeNull();
    expect(await previewChange(folder, 'write_file', { path: 'a.txt', content: 'one\r\n' })).toBeNull();
    expect(await previewChange(folder, 'write_file', { path: 'c.txt', content: 'x\r' })).toBeNull();
  });

  it('is none of other calls', async () => {
    expect(await previewChange(folder, 'bash', { command: 'rm a.txt' })).toBeNull();
    expect(await previewChange(folder, 'write_file', { path: 'a.txt' })).toBeNull();
  });
});

describe('the problem of a change', () => {
  it('says why an edit would fail, and nothing of one that would not', async () => {
    const problem = (args: Readonly<Record<string, string>>): Promise<string | null> =>
      changeProblem(folder, 'edit_file', { path: 'a.txt', old_text: 'four', new_text: '4', ...args });
    expect(await problem({})).toBeNull();
    expect(await problem({ old_text: 'e' })).toMatch(/^old_text occurs \d+ times in a\.txt/);
    expect(await problem({ old_text: 'six' })).toMatch(/^old_text does not occur in a\.txt/);
    expect(await problem({ path: 'none.txt' })).toBe('none.txt does not exist.');
    expect(await problem({ path: 'binary' })).toContain('is a binary file');
    expect(await problem({ path: '../outside.txt' })).toBeNull();
    expect(await changeProblem(folder, 'write_file', { path: 'binary', content: 'text' })).toBeNull();
    expect(await problem({ new_text: 'four' })).toContain('the same');
    expect(await changeProblem(folder, 'bash', { path: 'none.txt' })).toBeNull();
  });
});
