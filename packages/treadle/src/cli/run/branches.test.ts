import { scriptedModel } from '@treadle/testing';

import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../../test-support/harness.ts';

/** Reads a file and replaces it by one that says how many branches have asked before, then says so. */
function writer() {
  let branches = 0;
  return scriptedModel(({ messages, tools }) => {
    if (tools.length === 0) return 'The second is the best.\nBEST: 2';
    const made = messages.filter((message) => message.role === 'tool').length;
    if (made === 0) return { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] };
    if (made === 2) return `Written: ${JSON.stringify(messages).match(/by \d/)?.[0]}.`;
    branches += 1;
    return { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: `by ${branches}` } }] };
  });
}

const ARGV = ['run', 'Write a file.', '--permission-mode', 'acceptEdits'];

describe('treadle run --branches', () => {
  it('does it in copies of the folder, has the model judge, and takes over the winner with its files', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'a.txt'), 'before');
    const model = writer();
    const { code, stdout, stderr } = await runCli([...ARGV, '--branches', '3'], { cwd: folder.path, model });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    for (const branch of ['1', '2', '3']) expect(stderr).toContain(`Branch ${branch}: completed · 3 turns`);
    const said = /Written: (by \d)/.exec(stdout)?.[1];
    expect(await readFile(join(folder.path, 'a.txt'), 'utf8')).toBe(said);
    expect(await readdir(folder.path)).toEqual(['a.txt']);
    expect(model.requests.filter(({ tools }) => tools.length === 0)).toHaveLength(1);
  });

  it('takes a word for who chooses', async () => {
    await using folder = await temporaryFolder();
    const { code, stdout } = await runCli([...ARGV, '--branches', '2', '--judge', 'first', '--output-format', 'json'], {
      cwd: folder.path,
      model: writer(),
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', usage: { input: 60, output: 30 } });
    expect(existsSync(join(folder.path, 'a.txt'))).toBe(true);
  });

  it('says when there is no repository to make worktrees of', async () => {
    await using folder = await temporaryFolder();
    const argv = [...ARGV, '--branches', '2', '--judge', 'first', '--copies', 'worktree'];
    const { code, stderr } = await runCli(argv, { cwd: folder.path, model: writer() });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/git rev-parse failed in .*: (fatal: not a git repository|git is not installed)/);
  });

  it.each([
    [['--judge', 'first'], 'Say how many'],
    [['--branches', '3', '--judge', 'nobody'], "doesn't know 'nobody'"],
    [['--branches', '99'], 'up to 16'],
    [['--copies', 'worktree'], 'Say how many'],
    [['--branches', '2', '--copies', 'clone'], 'folder or worktree'],
  ])('refuses %j', async (argv, problem) => {
    const { code, stderr } = await runCli(['run', 'Write.', ...argv], { model: writer() });
    expect(code).toBe(2);
    expect(stderr).toContain(problem);
  });
});
