import { scriptedModel } from '@treadle/testing';

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../../test-support/harness.ts';

const writing = (content: string) =>
  scriptedModel([
    { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
    { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content } }] },
    'Done.',
  ]);

async function world() {
  const home = await temporaryFolder();
  const options = { env: { TREADLE_HOME: join(home.path, 'home') }, cwd: home.path };
  const file = join(home.path, 'a.txt');
  await writeFile(file, 'a0');
  await runCli(['--allow', 'write', '--no-stdin', 'First.'], { ...options, model: writing('a1') });
  await runCli(['--allow', 'write', '--no-stdin', '-c', 'Second.'], { ...options, model: writing('a2') });
  const { stdout } = await runCli(['sessions', 'list'], options);
  const [id = ''] = stdout.split('\t');
  const content = () => readFile(file, 'utf8');
  return { ...home, options, file, id, content, [Symbol.asyncDispose]: home[Symbol.asyncDispose] };
}

it('treadle sessions rewind says what it would do, and does it', async () => {
  await using at = await world();
  expect(await at.content()).toBe('a2');
  const dry = await runCli(['sessions', 'rewind', at.id, '--to', '1', '--dry-run'], at.options);
  expect(dry).toMatchObject({ code: 0, stdout: 'Would go back to before message 1: First.\nto restore\ta.txt\n' });
  expect(await at.content()).toBe('a2');
  const files = await runCli(['sessions', 'rewind', at.id, '--files'], at.options);
  expect(files).toMatchObject({ code: 0, stdout: 'Went back to before message 2: Second.\nrestored\ta.txt\n' });
  expect(await at.content()).toBe('a1');
  const both = await runCli(['sessions', 'rewind', at.id, '--to=2', '--json'], at.options);
  const { sessionId } = JSON.parse(both.stdout) as { readonly sessionId: string };
  const { stdout } = await runCli(['sessions', 'show', sessionId], at.options);
  expect(stdout).toContain('> First.');
  expect(stdout).not.toContain('> Second.');
});

it('treadle sessions rewind leaves alone what somebody else has changed', async () => {
  await using at = await world();
  await writeFile(at.file, 'mine');
  const { stdout } = await runCli(['sessions', 'rewind', at.id, '--files'], at.options);
  expect(stdout).toMatch(/^left alone\ta\.txt\tIt does not hold what the session left/m);
  expect(await at.content()).toBe('mine');
});

it.each([
  [['sessions', 'rewind'], 'needs the id of a session'],
  [['sessions', 'rewind', 'x', '--files', '--both'], 'Say one of'],
  [['sessions', 'rewind', 'x', '--to', 'y'], "'y'"],
])('treadle %j is refused', async (args, why) => {
  await using home = await temporaryFolder();
  const { code, stderr } = await runCli(args, { env: { TREADLE_HOME: home.path }, cwd: home.path });
  expect(code).toBe(2);
  expect(stderr).toContain(why);
});
