// Kills real processes at every moment of a run with everything in it, on each journal, and at random while a run waits for
// its client: `npm run test:crash [journal …]`. It prints the table of docs/reliability.md. It takes minutes.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { crashAtRandom, crashMatrix, everythingScenario } from '@treadle/testing';
import { clientToolCourse } from '../packages/store/src/test-support/client-tool-run.ts';
import { startPostgres } from '../packages/store/src/test-support/postgres.ts';
import { newStore, programOf, type StoreAt } from '../packages/store/src/test-support/stores.ts';

// Most of such a process's life is making JavaScript of the sources, which Node can keep.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/compile');

const kinds = ['files', 'SQLite', 'Postgres'] as const;
const wanted = process.argv.slice(2);
const chosen = kinds.filter((kind) => wanted.length === 0 || wanted.includes(kind));

// What dies is a process, and not the machine: so it may all be in memory, where a sync costs nothing.
const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const row = (cells: readonly (string | number)[]): void => console.log(`| ${cells.join(' | ')} |`);

async function everything(kind: StoreAt['kind'], place: string): Promise<void> {
  const scenario = everythingScenario(() => {
    const store = newStore(kind, place);
    return { ...store, process: programOf('./everything-process.ts', store.at) };
  });
  // What isn't as it must be is an error, which ends this.
  const { moments, courses, acknowledged } = await crashMatrix(scenario);
  if (courses < moments.length * 0.9) throw new Error(`Only ${courses} of ${moments.length} processes were killed.`);
  row(['everything', kind, courses, courses, acknowledged, 0, 0]);
}

async function clientTool(kind: StoreAt['kind'], place: string): Promise<void> {
  const { courses, deaths, acknowledged } = await crashAtRandom(() => clientToolCourse(kind, place, true), {
    courses: 100,
    seed: 100,
    latest: 30,
  });
  if (deaths < 100) throw new Error(`Only ${deaths} processes were killed.`);
  row(['client tool', kind, deaths, courses, acknowledged, 0, 0]);
}

const postgres = chosen.includes('Postgres') ? await startPostgres() : null;
try {
  row([
    'scenario',
    'journal',
    'processes killed',
    'runs completed',
    'events acknowledged before',
    'lost',
    'done twice',
  ]);
  row(['---', '---', '---:', '---:', '---:', '---:', '---:']);
  for (const kind of chosen) {
    const place = kind === 'Postgres' && postgres ? await postgres.database() : folder;
    await everything(kind, place);
    await clientTool(kind, place);
  }
} finally {
  await postgres?.stop();
}
