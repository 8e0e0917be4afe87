import { scriptedModel } from '@treadle/testing';

import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../test-support/harness.ts';

// Where there is no working sandbox a required one refuses the command, and where there is one it is read-only.
it.each([
  [{ mode: 'off' }, true],
  [{ mode: 'read-only', required: true }, false],
])('A command that is allowed, with the sandbox %j of the settings, makes a file: %s', async (sandbox, made) => {
  await using top = await temporaryFolder();
  const folder = join(top.path, 'project');
  const config = join(top.path, 'home/.config/treadle');
  await mkdir(folder);
  await mkdir(config, { recursive: true });
  await writeFile(join(config, 'settings.json'), JSON.stringify({ sandbox }));
  const model = scriptedModel([{ toolCalls: [{ name: 'bash', arguments: { command: 'touch made' } }] }, 'Done.']);
  const env = { HOME: join(top.path, 'home'), TREADLE_HOME: join(top.path, 'kept') };
  await runCli(['Go.', '--allow', 'bash'], { cwd: folder, env, model });
  expect(existsSync(join(folder, 'made'))).toBe(made);
});
