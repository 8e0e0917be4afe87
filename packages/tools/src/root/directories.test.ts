import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';

import { TreadleError } from '@treadle/core';
import { describe, expect, it } from 'vitest';

import { editFileTool, listFilesTool, readFileTool, writeFileTool } from '../file-tools.ts';
import { previewChange } from '../files/preview.ts';
import { searchTool } from '../search-tool.ts';
import { call, workspace } from '../test-support/workspace.ts';
import { openRoot } from './root.ts';

/** A root with one more folder beside it, and a folder that is of neither. */
async function folders() {
  const { root, outside, put } = await workspace({ 'a.txt': 'here\n' });
  const there = join(outside, '../there');
  await put('there/a.txt', 'there\n');
  await put('there/src/deep.ts', 'const there = 1;\n');
  return { root, outside, there: join(outside, '../there'), shared: openRoot(root, { directories: [there] }) };
}

describe('further folders of the file tools', () => {
  it('are named by absolute paths, which the tools say', async () => {
    const { there, shared } = await folders();
    const read = readFileTool({ root: shared });
    expect(JSON.stringify(read.inputSchema)).toContain(`relative to the root folder, or absolute in ${there}`);
    expect((await call(read, { path: join(there, 'a.txt') })).text).toContain('there');
    expect((await call(read, { path: 'a.txt' })).text).toContain('here');
    const list = await call(listFilesTool({ root: shared }), { path: there });
    expect(list.details['entries']).toMatchObject([
      { path: join(there, 'a.txt') },
      { path: join(there, 'src') },
      { path: join(there, 'src/deep.ts') },
    ]);
  });

  it.each([['with ripgrep', undefined] as const, ['without it', async () => undefined] as const])(
    'are searched %s',
    async (_, findRipgrep) => {
      const { there, shared } = await folders();
      const search = searchTool({ root: shared, ...(findRipgrep && { findRipgrep }) });
      const all = await call(search, { pattern: 'there', path: there });
      expect(all.details['matches']).toMatchObject([
        { path: join(there, 'a.txt') },
        { path: join(there, 'src/deep.ts') },
      ]);
      const some = await call(search, { pattern: 'there', path: there, glob: 'src/**/*.ts' });
      expect(some.details['matches']).toMatchObject([{ path: join(there, 'src/deep.ts') }]);
      const one = await call(search, { pattern: 'there', path: join(there, 'a.txt') });
      expect(one.details['matches']).toMatchObject([{ path: join(there, 'a.txt') }]);
    },
  );

  it('have files of their own: one of the same name was not read with the other', async () => {
    const { root, there, shared } = await folders();
    const path = join(there, 'a.txt');
    const reads: unknown[] = [];
    const read = await readFileTool({ root: shared }).execute?.({ path }, {
      signal: new AbortController().signal,
    } as never);
    reads.push(...((read as { reads?: { path: string }[] }).reads ?? []));
    expect(reads).toMatchObject([{ path }]);
    const write = writeFileTool({ root: shared });
    expect(await call(write, { path, content: 'x' }, { knows: root })).toMatchObject({ isError: true });
    expect(await readFile(path, 'utf8')).toBe('there\n');
  });

  it('are written to, and a look at the change shows its whole path', async () => {
    const { there, shared } = await folders();
    const args = { path: join(there, 'new/b.txt'), content: 'made\n' };
    expect(await previewChange(shared, 'write_file', args)).toContain(join(there, 'new/b.txt'));
    expect(await call(writeFileTool({ root: shared }), args)).toMatchObject({ isError: false });
    expect(await readFile(join(there, 'new/b.txt'), 'utf8')).toBe('made\n');
    const edit = { path: join(there, 'a.txt'), old_text: 'there', new_text: 'changed' };
    expect(await call(editFileTool({ root: shared }), edit)).toMatchObject({ details: { problem: 'not_read' } });
  });

  it('let nothing out: neither a link, nor a folder of a like name, nor another one', async () => {
    const { outside, there, shared } = await folders();
    await symlink(join(outside, 'secret.txt'), join(there, 'link.txt'));
    await mkdir(`${there}-too`);
    const read = readFileTool({ root: shared });
    for (const path of [
      join(there, 'link.txt'),
      `${there}-too/x.txt`,
      join(outside, 'secret.txt'),
      `${there}/../outside/secret.txt`,
    ]) {
      const answer = await call(read, { path });
      expect({ path, ...answer }).toMatchObject({ isError: true });
      expect(answer.text).not.toContain('SECRET');
    }
  });

  it('count as inside where permissions say so, not by themselves', async () => {
    const { root, there, shared } = await folders();
    const access = await readFileTool({ root: shared }).access?.({ path: join(there, 'a.txt') });
    expect(access).toMatchObject({ folder: root, paths: [{ path: join(there, 'a.txt') }] });
  });

  it('must be there', async () => {
    const { root } = await folders();
    expect(() => openRoot(root, { directories: ['/no/such'] })).toThrow(TreadleError);
  });
});
