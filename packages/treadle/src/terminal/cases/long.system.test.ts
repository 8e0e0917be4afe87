import { sqliteJournal } from '@treadle/store';
import { longLog } from '@treadle/testing';

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { BUILT } from '../../test-support/process.ts';
import { figure, residentMb } from '../../test-support/process-figures.ts';
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
    const terminal = world.open(['-r', 'session_long'], { command: BUILT });
    await terminal.shows(STATUS);
    const shown = await terminal.shows('Done.');
    figure('first screen of 3,000 turns', performance.now() - at, 1000, 'ms', expect);
    figure('memory of 3,000 turns', residentMb(terminal.pid), 150, 'MB', expect);
    // What is left out is said above what is shown.
    expect(shown.split('\n').slice(0, 6).join('\n')).toMatch(/… 17\d{3} earlier events are left out/);
    expect(shown.split('\n').length).toBeLessThan(2000);
    terminal.type('Is it quick?');
    await terminal.shows('> Is it quick?');
    const typed: number[] = [];
    for (let key = 0; key < 10; key += 1) {
      const pressed = performance.now();
      const { length } = terminal.emulator.raw();
      terminal.type('x');
      while (terminal.emulator.raw().length === length) await new Promise((resolve) => setImmediate(resolve));
      typed.push(performance.now() - pressed);
    }
    figure('a key on the screen, median of 10', typed.toSorted((a, b) => a - b)[5] ?? Infinity, 20, 'ms', expect);
    terminal.type('\u007f'.repeat(10));
    await terminal.shows(/> Is it quick\?$/m);
    terminal.type('\u000f');
    await terminal.shows('q leaves');
    terminal.type('g');
    await terminal.shows(/ 1–\d+ of /);
    terminal.type('q');
    await terminal.shows('> Is it quick?');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  },
);
