import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bashTool } from '../bash-tool.ts';
import { editFileTool, listFilesTool, readFileTool, writeFileTool } from '../file-tools.ts';
import { searchTool } from '../search-tool.ts';
import { workspace } from '../test-support/workspace.ts';

describe('what a call touches', () => {
  test('is the file, read or written', async () => {
    const { root } = await workspace({ 'a.txt': 'a' });
    const path = join(root, 'a.txt');
    const reading = { folder: root, paths: [{ path, write: false }], readOnly: true };
    const writing = { folder: root, paths: [{ path, write: true }], readOnly: false, edits: true };
    expect(await readFileTool({ root }).access?.({ path: 'a.txt' })).toEqual(reading);
    expect(await readFileTool({ root }).access?.({ path })).toEqual(reading);
    expect(await writeFileTool({ root }).access?.({ path: 'a.txt', content: '' })).toEqual(writing);
    expect(await editFileTool({ root }).access?.({ path: './a.txt', old_text: '', new_text: '' })).toEqual(writing);
  });

  test('is the folder and what is below it, for a list and a search', async () => {
    const { root } = await workspace({ 'src/a.txt': 'a' });
    const whole = { folder: root, paths: [{ path: root, write: false, recursive: true }], readOnly: true };
    expect(await listFilesTool({ root }).access?.({})).toEqual(whole);
    expect(await searchTool({ root }).access?.({ pattern: 'x' })).toEqual(whole);
    expect(await searchTool({ root }).access?.({ pattern: 'x', path: 'src' })).toMatchObject({
      paths: [{ path: join(root, 'src') }],
    });
  });

  test('is told by where links lead, also to what is not there yet, and as it is written', async () => {
    const { root, outside } = await workspace({ 'real/a.txt': 'a', '.git/config': '' });
    await symlink('real', join(root, 'alias'));
    await symlink('.git', join(root, 'innocent'));
    await symlink(outside, join(root, 'away'));
    await symlink('real/new.txt', join(root, 'dangling'));
    const of = async (path: string): Promise<unknown> =>
      (await writeFileTool({ root }).access?.({ path, content: '' }))?.paths?.[0];
    const found = (path: string, given: string): object => ({ path, given: join(root, given), write: true });
    expect(await of('alias/a.txt')).toEqual(found(join(root, 'real/a.txt'), 'alias/a.txt'));
    expect(await of('alias/deep/new.txt')).toEqual(found(join(root, 'real/deep/new.txt'), 'alias/deep/new.txt'));
    expect(await of('innocent/hooks/pre-commit')).toEqual(
      found(join(root, '.git/hooks/pre-commit'), 'innocent/hooks/pre-commit'),
    );
    expect(await of('away/x')).toEqual(found(join(outside, 'x'), 'away/x'));
    expect(await of('dangling')).toEqual(found(join(root, 'real/new.txt'), 'dangling'));
  });

  test('is nothing where the text of the path is refused anyway', async () => {
    const { root } = await workspace();
    for (const path of ['../x', '/etc/passwd', '~/x', 'a\0b', '']) {
      expect(await writeFileTool({ root }).access?.({ path, content: '' })).toEqual({
        folder: root,
        paths: [],
        readOnly: true,
      });
    }
  });

  test('of a command is what its text tells', async () => {
    const { root } = await workspace({ 'a.txt': 'a' });
    const bash = bashTool({ root, env: { PATH: '/usr/bin:/bin' } });
    expect(await bash.access?.({ command: 'cat a.txt' })).toMatchObject({
      folder: root,
      commands: { text: 'cat a.txt', plain: [{ words: ['cat', 'a.txt'] }], named: [['cat', 'a.txt']] },
      paths: [{ path: join(root, 'a.txt'), write: false }],
    });
    expect(await bash.access?.({ command: '(rm x)' })).toMatchObject({
      commands: { plain: null, named: [['rm', 'x']] },
      readOnly: false,
    });
  });
});
