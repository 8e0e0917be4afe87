import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { temporaryFolder } from '../../test-support/harness.ts';
import { startInTerminal } from '../../test-support/terminal-process.ts';
import { STATUS, terminalWorld } from '../../test-support/terminal-world.ts';

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

  // It knows by then that the run is over.
  await reading.shows(/ turns · /);
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

it('shows the text of a reply while another terminal streams it, and each piece of it once', async () => {
  const held = Promise.withResolvers<void>();
  const text = 'A beginning that is in no log yet, and an end.';
  await using world = await terminalWorld([
    { text, chunkSize: 6, waitAfter: { deltas: 4, until: held.promise } },
    'Another reply.',
  ]);
  const driving = world.open();
  await driving.shows(STATUS);
  driving.type('Tell me\r');
  await driving.shows('A beginning that');
  const started = (await world.log()).find((event) => event.type === 'run_started');
  const reading = world.open(['attach', started?.runId.split('.')[0] ?? '']);
  expect(await reading.shows('A beginning that')).not.toContain('an end');
  held.resolve();
  await driving.shows(/1 turn · /);
  const shown = await reading.shows(/1 turn · /);
  expect(shown.split('A beginning')).toHaveLength(2);
  expect(shown).toContain(text);
  reading.type('And more\r');
  await reading.shows(/Another reply\.[^]*1 turn · [^]*1 turn · |1 turn · [^]*Another reply\./);
});

it('leaves a question of the model to the terminal that drives the session', async () => {
  const options = ['SQLite', 'Postgres'].map((label) => ({ label, description: `It is ${label}.` }));
  const questions = [{ question: 'Which database?', header: 'Database', options }];
  await using world = await terminalWorld([{ toolCalls: [{ name: 'ask_user', arguments: { questions } }] }, 'Done.']);
  const driving = world.open();
  await driving.shows(STATUS);
  driving.type('Set it up\r');
  await driving.shows('2  Postgres');
  const started = (await world.log()).find((event) => event.type === 'run_started');
  const id = started?.runId.split('.')[0] ?? '';
  const [reading, plain] = [world.open(['attach', id]), world.open(['attach', id], { env: { ACCESSIBLE: '1' } })];
  for (const one of [reading, plain]) {
    expect(await one.shows('The terminal that drives the session answers this question.')).not.toContain('2  Postgres');
    one.type('\u0004');
    await one.ended;
  }
  driving.type('2');
  await driving.shows(/Which database\? · Postgres[^]*Done\./);
});
