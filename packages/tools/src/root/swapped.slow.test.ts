// @module-tag slow

import { spawn } from 'node:child_process';
import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { editFileTool, listFilesTool, readFileTool, writeFileTool } from '../file-tools.ts';
import { openRoot } from '../index.ts';
import { searchTool } from '../search-tool.ts';
import { call, workspace } from '../test-support/workspace.ts';

/**
 * Swaps the entry `name` of the root for the link `evil` and back, as fast as another process can, until the test ends.
 * Between the two there is nothing there for a moment; what a tool puts into that gap is cleared away.
 */
function swapForever(root: string, name: string): void {
  const script = `
    import { existsSync, renameSync, rmSync } from 'node:fs';
    const [target, evil, aside] = ${JSON.stringify([name, 'evil', 'aside'].map((one) => join(root, one)))};
    for (;;) {
      try {
        renameSync(target, aside);
        renameSync(evil, target);
        renameSync(target, evil);
        renameSync(aside, target);
      } catch {
        if (!existsSync(aside)) continue;
        rmSync(target, { recursive: true, force: true });
        renameSync(aside, target);
      }
    }`;
  const swapper = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'ignore' });
  const ended = new Promise((resolve) => swapper.once('exit', resolve));
  onTestFinished(async () => {
    swapper.kill('SIGKILL');
    await ended;
  });
}

describe.runIf(process.platform === 'linux')('T20: a link swapped in between check and use', () => {
  /** On until the other process has come in between often enough, however busy the machine is. */
  async function expectInside(rounds: number, often: number): Promise<void> {
    const place = await workspace({ target: 'inside\n' });
    await symlink(join(place.outside, 'secret.txt'), join(place.root, 'evil'));
    swapForever(place.root, 'target');
    const tool = readFileTool({ root: place.root });
    const outcomes = { inside: 0, refused: 0 };
    for (let round = 0; round < rounds || Math.min(outcomes.inside, outcomes.refused) <= often; round += 1) {
      const answer = await call(tool, { path: 'target' });
      expect(answer.text).not.toContain('SECRET');
      outcomes[answer.isError ? 'refused' : 'inside'] += 1;
    }
  }

  test('never shows a file outside, in 10,000 reads', { timeout: 120_000 }, async () => {
    await expectInside(10_000, 100);
  });

  test('never shows a file outside, in 500 reads', { tags: ['share'] }, async () => {
    await expectInside(500, 5);
  });

  test(
    'never lets a write, an edit, a list or a search out through a swapped folder',
    { timeout: 120_000 },
    async () => {
      const place = await workspace({ 'folder/secret.txt': 'inside\n' });
      await symlink(place.outside, join(place.root, 'evil'));
      swapForever(place.root, 'folder');
      const root = openRoot(place.root);
      const write = writeFileTool({ root });
      const edit = editFileTool({ root });
      const list = listFilesTool({ root });
      const search = searchTool({ root, findRipgrep: () => Promise.resolve(undefined) });
      const knowing = { knows: place.root };
      const outcomes = { done: 0, refused: 0 };
      for (let round = 0; round < 1_000 || outcomes.done <= 100 || outcomes.refused <= 10; round += 1) {
        const answers = [
          await call(write, { path: 'folder/secret.txt', content: `inside ${round}\n` }, knowing),
          await call(edit, { path: 'folder/secret.txt', old_text: 'inside', new_text: 'still inside' }, knowing),
          await call(list, { path: 'folder' }),
          await call(search, { path: 'folder', pattern: 'SECRET' }),
        ];
        for (const answer of answers) outcomes[answer.isError ? 'refused' : 'done'] += 1;
        for (const answer of answers) expect(answer.text).not.toContain('SECRET outside');
      }
      expect(await readFile(join(place.outside, 'secret.txt'), 'utf8')).toBe('SECRET outside\n');
      expect(await readdir(place.outside)).toEqual(['secret.txt']);
      expect(outcomes.done).toBeGreaterThan(100);
      expect(outcomes.refused).toBeGreaterThan(10);
    },
  );
});
