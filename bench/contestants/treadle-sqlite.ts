// Treadle with the journal its command line uses, in a file of its own: the price of durability.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '@treadle/core';
import { sqliteJournal } from '@treadle/store';
import type { Contestant, WireName } from './contestant.ts';
import { treadleOn } from './treadle.ts';

function temporaryJournal(): Journal {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return sqliteJournal({ path: join(folder, 'journal.db') });
}

export const treadleSqliteOn = (wire: WireName): Promise<Contestant> => treadleOn(wire, temporaryJournal);
