import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { temporaryFolder } from '../../test-support/harness.ts';
import { startInTerminal } from '../../test-support/terminal-process.ts';

it('answers a question of an interactive session from a second terminal, and both show who did', async () => {
  await using folder = await temporaryFolder();
  const env = { USER: 'anna' };
  await using driving = startInTerminal([], { cwd: folder.path, env });
  await driving.shows(/demo\/demo-1 · default/);
  driving.type('Create notes/a.md with the text "hello"\r');
  await driving.shows(/4 {2}no, and say why/);
  await using list = startInTerminal(['sessions', 'list', '--json'], { cwd: folder.path, env, columns: 4000 });
  await list.ended;
  const id = /"sessionId":"(\w+)"/.exec((await list.emulator.lines()).join(''))?.[1] ?? '';

  await using reading = startInTerminal(['attach', id], { cwd: folder.path, env });
  await reading.shows(/4 {2}no, and say why/);
  expect((await reading.emulator.lines()).join('\n')).toContain('+hello');
  // A digit counts once the question has been there to be read.
  await new Promise((resolve) => setTimeout(resolve, 400));
  reading.type('1');
  await reading.shows(/allowed\s+by\s+you/);
  await driving.shows(/by\s+anna\s+at\s+another\s+terminal/);
  await driving.shows(/ turns · /);
  expect(existsSync(join(folder.path, 'notes/a.md'))).toBe(true);

  reading.type('How many files are in this folder?\r');
  await driving.shows(/anna at another terminal \(process \d+\):\n> How many files/);
  await reading.shows(/> How many files[^]* turns? · /);
  expect(forbidden(reading.emulator.raw())).toEqual([]);
  reading.type('\u0004');
  expect(await reading.ended).toBe(0);
});

it('shows nothing of a key that is typed at the first run', async () => {
  await using folder = await temporaryFolder();
  await using terminal = startInTerminal(['login', 'anthropic'], { cwd: folder.path });
  await terminal.shows('which is not shown');
  terminal.type('sk-ant-012345678X\u007f9\r');
  await terminal.shows('Kept in ');
  expect(await terminal.ended).toBe(0);
  expect(terminal.emulator.raw()).not.toContain('sk-ant');
  await using asked = startInTerminal(['login', 'anthropic'], { cwd: folder.path });
  await asked.shows('which is not shown');
  asked.type('\u0003');
  expect(await asked.ended).toBe(130);
});
