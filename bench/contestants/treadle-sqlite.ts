// Treadle with the journal its command line uses, in a file of its own: the price of durability.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteJournal } from '@treadle/store';
import type { Contestant } from './contestant.ts';
import { defineTreadle } from './treadle.ts';

export const treadleSqlite: Contestant = {
  define(setup) {
    const folder = mkdtempSync(join(tmpdir(), 'treadle-bench-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    return defineTreadle(setup, sqliteJournal({ path: join(folder, 'journal.db') }));
  },
};
