import { sqliteJournal } from '@treadle/store';
import { longLog } from '@treadle/testing';

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { residentMb } from '../../test-support/process-figures.ts';
import { STATUS, terminalWorld } from '../../test-support/terminal-world.ts';

it(
  '21: opens a session of 3,000 turns at its end, and shows the rest on demand',
  { timeout: 90_000 },
  async ({ expect }) => {
    await using world = await terminalWorld([]);
    await mkdir(join(world.home, '.treadle'));
    const journal = sqliteJournal({ path: join(world.home, '.treadle/sessions.db') });
    await longLog(journal, 'session_long', 18_000);
    await journal.close();
    const at = performance.now();
    const terminal = world.open(['-r', 'session_long']);
    await terminal.shows(STATUS);
    const shown = await terminal.shows('Done.');
    console.log(
      `a long session: first screen after ${Math.round(performance.now() - at)} ms, ${Math.round(residentMb(terminal.pid))} MB`,
    );
    // What is left out is said above what is shown.
    expect(shown.split('\n').slice(0, 6).join('\n')).toMatch(/… 17\d{3} earlier events are left out/);
    expect(shown.split('\n').length).toBeLessThan(2000);
    terminal.type('Is it quick?');
    await terminal.shows('> Is it quick?');
    terminal.type('\u000f');
    await terminal.shows('q leaves');
    terminal.type('g');
    await terminal.shows(/ 1–\d+ of /);
    terminal.type('q');
    await terminal.shows('> Is it quick?');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  },
);
