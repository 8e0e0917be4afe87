import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { editFileTool, readFileTool, writeFileTool } from '../file-tools.ts';
import { call, workspace } from '../test-support/workspace.ts';
import type { EditorFiles } from './open.ts';
import { openRoot } from './root.ts';

/** An editor with some files open, which notes what it is asked. */
function editor(buffers: Readonly<Record<string, string>>, more: Partial<EditorFiles> = {}) {
  const asked: string[] = [];
  const written = new Map<string, string>();
  const files: EditorFiles = {
    async read(path) {
      asked.push(path);
      return written.get(path) ?? buffers[path] ?? null;
    },
    async write(path, text) {
      written.set(path, text);
    },
    ...more,
  };
  return { files, asked, written };
}

describe('files that an editor has open', () => {
  it('are read as it has them, and others from the disk', async () => {
    const { root } = await workspace({ 'a.txt': 'saved\n', 'b.txt': 'on the disk\n' });
    const { files } = editor({ [join(root, 'a.txt')]: 'typed\n' });
    const read = readFileTool({ root: openRoot(root, { editor: files }) });
    expect((await call(read, { path: 'a.txt' })).text).toContain('typed');
    expect((await call(read, { path: 'b.txt' })).text).toContain('on the disk');
  });

  it('are edited as it has them, and written by it', async () => {
    const { root } = await workspace({ 'a.txt': 'saved\n' });
    const path = join(root, 'a.txt');
    const { files, written } = editor({ [path]: 'typed\n' });
    const edit = editFileTool({ root: openRoot(root, { editor: files }) });
    // What the model has read is what the editor has.
    const known = await workspace({ 'a.txt': 'typed\n' });
    const args = { path: 'a.txt', old_text: 'typed', new_text: 'edited' };
    expect(await call(edit, args, { knows: known.root })).toMatchObject({ isError: false });
    expect(written).toEqual(new Map([[path, 'edited\n']]));
    expect(await readFile(path, 'utf8')).toBe('saved\n');
  });

  it('are left alone when somebody has typed since the model read them', async () => {
    const { root } = await workspace({ 'a.txt': 'saved\n' });
    const { files, written } = editor({ [join(root, 'a.txt')]: 'typed since\n' });
    const write = writeFileTool({ root: openRoot(root, { editor: files }) });
    const refused = await call(write, { path: 'a.txt', content: 'mine' }, { knows: root });
    expect(refused).toMatchObject({ isError: true, details: { problem: 'changed' } });
    expect(written.size).toBe(0);
  });

  it('are made by it with the folders above them', async () => {
    const { root } = await workspace();
    const { files, written } = editor({});
    const write = writeFileTool({ root: openRoot(root, { editor: files }) });
    expect(await call(write, { path: 'sub/new.txt', content: 'new' })).toMatchObject({ details: { created: true } });
    expect(written).toEqual(new Map([[join(root, 'sub/new.txt'), 'new']]));
  });

  it('are not written when it can not: the model is told', async () => {
    const { root } = await workspace();
    const { files } = editor({}, { write: () => Promise.reject(new Error('read-only')) });
    const write = writeFileTool({ root: openRoot(root, { editor: files }) });
    const failed = await call(write, { path: 'new.txt', content: 'new' });
    expect(failed).toMatchObject({ isError: true, details: { problem: 'io' } });
    expect(failed.text).toContain('read-only');
  });

  it('are asked for only inside the root, and only when they are text', async () => {
    const { root, outside } = await workspace({ 'a.bin': new Uint8Array([0, 1, 2]), 'real/a.txt': 'a\n' });
    await symlink(join(outside, 'secret.txt'), join(root, 'out.txt'));
    await symlink('real', join(root, 'link'));
    await mkdir(join(root, 'folder'));
    const { files, asked } = editor({});
    const read = readFileTool({ root: openRoot(root, { editor: files }) });
    for (const path of ['out.txt', '../outside/secret.txt', 'a.bin', 'folder', 'none.txt'])
      expect(await call(read, { path })).toMatchObject({ isError: true });
    expect(asked).toEqual([]);
    await call(read, { path: 'link/a.txt' });
    expect(asked).toEqual([join(root, 'real/a.txt')]);
  });
});
