// The tools under the permissions of an agent, as they are when nothing is set up.
import { createSession, defineAgent, type JsonObject, type PermissionOptions } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtInTools } from './built-in-tools.ts';
import { deletions } from './test-support/deletions.ts';
import { workspace } from './test-support/workspace.ts';

interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
}

interface Outcome {
  /** What was asked for, and why. */
  readonly asked: readonly { readonly input: JsonObject; readonly reason: string }[];
  /** Tools that were really started. */
  readonly started: number;
  /** Calls that were refused without asking. */
  readonly refused: number;
}

/** Makes the calls in one turn. Whoever is asked says no. */
async function make(root: string, calls: readonly Call[], permissions: PermissionOptions = {}): Promise<Outcome> {
  const asked: { input: JsonObject; reason: string }[] = [];
  const agent = defineAgent({
    model: scriptedModel([{ toolCalls: calls }, 'Done.']),
    tools: builtInTools({ root, bash: { sandbox: 'off' } }),
    permissions: {
      ...permissions,
      canUseTool(_name, input, { reason }) {
        asked.push({ input, reason });
        return { behavior: 'deny', message: 'No.' };
      },
    },
  });
  const session = await createSession(agent);
  let started = 0;
  let rejected = 0;
  for await (const event of session.prompt('Go.')) {
    if (event.type === 'tool_started') started += 1;
    if (event.type === 'tool_call_rejected') rejected += 1;
  }
  return { asked, started, refused: rejected - asked.length };
}

const command = (text: string): Call => ({ name: 'bash', arguments: { command: text } });

test('T17: of 40 and more spellings of one deletion none runs without asking', async () => {
  const { root } = await workspace({ 'victim/file.txt': 'x' });
  const { asked, started, refused } = await make(
    root,
    deletions.map((deletion) => command(deletion.command)),
  );
  expect(asked.map(({ input }) => input['command'])).toEqual(deletions.map((deletion) => deletion.command));
  expect({ started, refused }).toEqual({ started: 0, refused: 0 });
  expect(existsSync(join(root, 'victim/file.txt'))).toBe(true);
});

test('without a sandbox every command asks, also one that only reads', async () => {
  const { root } = await workspace({ 'a.txt': 'a' });
  const { asked, started } = await make(root, [command('ls -la | head -3'), command('cat a.txt'), command('pwd')]);
  expect({ asked: asked.length, started }).toEqual({ asked: 3, started: 0 });
  expect(asked[0]?.reason).toBe(
    'No rule allows the command: commands that only read run unasked in a sandbox, and the sandbox is switched off. ' +
      'Without one, allow them by a rule (--allow bash)',
  );
});

test('a rule for one command covers filters beside it, and nothing that reads files', async () => {
  const { root } = await workspace({ 'a.txt': 'a' });
  const texts = ['true x | head -1 && echo done', 'true x | head -1 a.txt'];
  const { asked, started } = await make(root, texts.map(command), { allow: ['bash(true x)'] });
  expect({ asked: asked.map(({ input }) => input['command']), started }).toEqual({ asked: texts.slice(1), started: 1 });
});

test('what looks outside of it asks', async () => {
  const { root } = await workspace();
  const { asked, started } = await make(root, [command('cat /etc/shadow'), command('cat ~/.ssh/id_rsa')]);
  expect({ asked: asked.length, started }).toEqual({ asked: 2, started: 0 });
});

describe('T18: a rule that denies', () => {
  test.each([
    ['at the end of 60 commands', `${'ls && '.repeat(60)}rm -rf victim`],
    ['at the end of 3000 commands', `${'true; '.repeat(3000)}rm -rf victim`],
    ['inside 60 substitutions', `echo ${'$(ls) '.repeat(60)} $(rm -rf victim)`],
    ['behind wrappers', 'sudo env A=1 timeout 5 nice rm -rf victim'],
    ['in a script for a shell', `bash -c 'ls; sh -c "rm -rf victim"'`],
    ['in a text that is too long to parse', `echo ${'x'.repeat(70_000)}; rm -rf victim`],
  ])('holds %s, also in a mode that asks for nothing', async (_name, text) => {
    const { root } = await workspace({ 'victim/file.txt': 'x' });
    for (const mode of ['default', 'bypass'] as const) {
      const permissions: PermissionOptions = { mode, allowBypass: true, deny: ['bash(rm:*)'], allow: ['bash'] };
      expect(await make(root, [command(text)], permissions)).toEqual({ asked: [], started: 0, refused: 1 });
    }
    expect(existsSync(join(root, 'victim/file.txt'))).toBe(true);
  });
});

describe('T21: what decides what runs is not written without asking', () => {
  const targets = [
    '.git/hooks/pre-commit',
    '.git/config',
    '.git/commondir',
    '.treadle/settings.json',
    '.mcp.json',
    'sub/.git/config',
    'innocent/hooks/pre-commit',
    'harmless.json',
  ];

  test.each(['absent', 'present'])('when it is %s', async (state) => {
    const { root } = await workspace();
    if (state === 'present') {
      for (const target of targets.slice(0, 6)) {
        await mkdir(join(root, target, '..'), { recursive: true });
        await writeFile(join(root, target), 'ours');
      }
    } else {
      await mkdir(join(root, '.git'));
    }
    await symlink('.git', join(root, 'innocent'));
    await symlink('.mcp.json', join(root, 'harmless.json'));
    const writes = targets.map((path) => ({ name: 'write_file', arguments: { path, content: 'evil' } }));
    const edits = targets.map((path) => ({
      name: 'edit_file',
      arguments: { path, old_text: 'ours', new_text: 'evil' },
    }));
    const names = await readdir(root, { recursive: true });
    for (const permissions of [{}, { mode: 'acceptEdits' }, { allow: ['write_file', 'edit_file'] }] as const) {
      const { asked, started } = await make(root, [...writes, ...edits], permissions);
      expect({ asked: asked.map(({ input }) => input['path']), started }).toEqual({
        asked: [...targets, ...targets],
        started: 0,
      });
    }
    expect(await readdir(root, { recursive: true })).toEqual(names);
    if (state === 'present') expect(await readFile(join(root, '.git/config'), 'utf8')).toBe('ours');
  });
});
