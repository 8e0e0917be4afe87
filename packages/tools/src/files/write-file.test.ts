import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeFileTool } from '../file-tools.ts';
import { call, workspace } from '../test-support/workspace.ts';

describe('write_file', () => {
  test('creates a file and the folders above it', async () => {
    const { root } = await workspace();
    const answer = await call(writeFileTool({ root }), { path: 'a/b/c.txt', content: 'hé\n' });
    expect(answer).toMatchObject({ isError: false, text: 'Created a/b/c.txt: 4 bytes.' });
    expect(answer.details).toEqual({ path: 'a/b/c.txt', bytes: 4, created: true });
    expect(await readFile(join(root, 'a/b/c.txt'), 'utf8')).toBe('hé\n');
  });

  test('replaces a file, keeps its mode and leaves nothing beside it', async () => {
    const { root, put } = await workspace();
    await put('root/run.sh', 'old', 0o751);
    const answer = await call(writeFileTool({ root }), { path: 'run.sh', content: 'new' }, { knows: root });
    const diff = '--- run.sh\n+++ run.sh\n@@ -1,1 +1,1 @@\n-old\n+new';
    const change = { firstChangedLine: 1, addedLines: 1, removedLines: 1, diff };
    expect(answer.details).toEqual({ path: 'run.sh', bytes: 3, created: false, ...change });
    expect((await stat(join(root, 'run.sh'))).mode & 0o7777).toBe(0o751);
    expect(await readdir(root)).toEqual(['run.sh']);
  });

  test('a new file gets the mode the process gives new files', async () => {
    const { root, put } = await workspace();
    const { mode } = await stat(await put('root/b', ''));
    await call(writeFileTool({ root }), { path: 'a', content: '' });
    expect((await stat(join(root, 'a'))).mode & 0o777).toBe(mode & 0o777);
  });

  test('a lone surrogate is written as U+FFFD', async () => {
    const { root } = await workspace();
    await call(writeFileTool({ root }), { path: 'a', content: 'a\ud800b' });
    expect(await readFile(join(root, 'a'), 'utf8')).toBe('a\ufffdb');
  });

  test('refuses a folder, and a file in the place of a folder', async () => {
    const { root } = await workspace({ file: 'x' });
    await mkdir(join(root, 'folder'));
    const tool = writeFileTool({ root });
    expect((await call(tool, { path: 'folder', content: '' })).details['problem']).toBe('is_directory');
    expect((await call(tool, { path: '.', content: '' })).details['problem']).toBe('is_directory');
    expect((await call(tool, { path: 'file/below', content: '' })).details['problem']).toBe('not_directory');
  });

  test('does nothing when the call was aborted', async () => {
    const { root } = await workspace();
    const answer = await call(writeFileTool({ root }), { path: 'a/b', content: '' }, { signal: AbortSignal.abort() });
    expect(answer.isError).toBe(true);
    expect(await readdir(root)).toEqual([]);
  });

  test('a read-only file is replaced only by who may write it anyway', async () => {
    const { root, put } = await workspace();
    await put('root/a', 'old', 0o444);
    const mayWrite = process.getuid?.() === 0;
    const answer = await call(writeFileTool({ root }), { path: 'a', content: 'new' }, { knows: root });
    expect(answer.isError).toBe(!mayWrite);
    expect(await readFile(join(root, 'a'), 'utf8')).toBe(mayWrite ? 'new' : 'old');
    expect((await stat(join(root, 'a'))).mode & 0o777).toBe(0o444);
  });

  test('many writes of one file at once leave one of them whole', async () => {
    const { root } = await workspace();
    const tool = writeFileTool({ root });
    const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
    await Promise.all(contents.map((content) => call(tool, { path: 'a', content }, { knows: root })));
    expect(contents).toContain(await readFile(join(root, 'a'), 'utf8'));
    expect(await readdir(root)).toEqual(['a']);
  });

  test(
    'T25: a process killed in the middle of writing leaves the old content or the new',
    { timeout: 60_000 },
    async () => {
      const { root } = await workspace({ a: 'old'.repeat(300_000) });
      const script = `
      import { readFileTool, writeFileTool } from ${JSON.stringify(new URL('../file-tools.ts', import.meta.url).href)};
      const options = { root: ${JSON.stringify(root)} };
      const tool = writeFileTool(options);
      let known = null;
      const context = { signal: new AbortController().signal, lastRead: () => known };
      const note = ({ reads: [{ hash }] }) => { known = hash; };
      note(await readFileTool(options).execute({ path: 'a' }, context));
      for (let round = 0; ; round += 1) {
        note(await tool.execute({ path: 'a', content: (round % 2 === 0 ? 'new' : 'old').repeat(300_000) }, context));
        if (round === 2) process.send('writing');
      }`;
      const whole = ['old'.repeat(300_000), 'new'.repeat(300_000)];
      for (let round = 0; round < 8; round += 1) {
        const writer = spawn(
          process.execPath,
          ['--conditions=treadle-source', '--input-type=module', '--eval', script],
          {
            stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
          },
        );
        const ended = new Promise((resolve) => writer.once('exit', resolve));
        await new Promise((resolve) => writer.once('message', resolve));
        await new Promise((resolve) => setTimeout(resolve, round * 3));
        writer.kill('SIGKILL');
        await ended;
        expect(whole).toContain(await readFile(join(root, 'a'), 'utf8'));
      }
    },
  );
});
