// @module-tag slow

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const docs = join(root, 'docs');
const page = readFileSync(join(docs, 'reliability.md'), 'utf8');

const JOURNALS = ['memory', 'files', 'SQLite', 'Postgres'] as const;
type JournalName = (typeof JOURNALS)[number];

/** The lines of faults that are about sessions, and the one about answers. */
const LINES = ['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S10', 'S11', 'S12', 'S14', 'S15', 'H4'];

interface Cell {
  readonly id: string;
  readonly journal: JournalName;
  /** Test files, below the root; none in a cell with a dash. */
  readonly files: readonly string[];
}

const cells = page.split('\n').flatMap((line): Cell[] => {
  const [, id] = /^\| ([A-Z]\d+) +\|/.exec(line) ?? [];
  if (id === undefined) return [];
  const columns = line.split('|').slice(3, -1);
  return JOURNALS.map((journal, index) => ({ id, journal, files: linksIn(columns[index] ?? '') }));
});

function linksIn(cell: string): string[] {
  const files = [...cell.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file]) => file ?? '');
  if (files.length === 0) expect(cell.trim()).toBe('–');
  return files.map((file) => relative(root, join(docs, file)));
}

/** Which journal a file is about, where its place says so. In the other files the names of the tests say it. */
const PLACES: Readonly<Record<JournalName, string>> = {
  memory: 'packages/core/',
  files: 'packages/store/src/files/',
  SQLite: 'packages/store/src/sqlite/',
  Postgres: 'packages/store/src/postgres/',
};

interface Found {
  readonly file: string;
  /** Below the names of its groups. */
  readonly name: string;
}

/** The tests that there really are in these files. As they are written, or, which takes longer, as they will run. */
function testsIn(files: readonly string[], as: 'written' | 'run'): Found[] {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-list-'));
  try {
    const list = join(folder, 'tests.json');
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const how = as === 'run' ? ['--no-static-parse'] : [];
    execFileSync(process.execPath, [vitest, 'list', ...how, `--json=${list}`, ...files], { cwd: root, stdio: 'pipe' });
    const found = JSON.parse(readFileSync(list, 'utf8')) as Found[];
    return found.map(({ file, name }) => ({ file: relative(root, file), name }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Link extends Omit<Cell, 'files'> {
  readonly path: string;
}

const links = cells.flatMap(({ id, journal, files }) => files.map((path): Link => ({ id, journal, path })));

/** Whether one of the tests shows a line on a journal. */
function isShown({ id, journal, path }: Link, tests: readonly Found[]): boolean {
  const [placed] = JOURNALS.filter((each) => path.startsWith(PLACES[each]));
  if (placed !== undefined && placed !== journal) return false;
  // In a title, before its colon, beside others maybe.
  const title = new RegExp(`(?:^|> )(?:[A-Z]\\d+, )*${id}(?:, [A-Z]\\d+)*: `);
  return tests.some(
    ({ file, name }) =>
      file === path && title.test(name) && (placed !== undefined || new RegExp(`\\b${journal}\\b`).test(name)),
  );
}

describe('the matrix of docs/reliability.md', () => {
  let tests: Found[] = [];
  beforeAll(() => {
    tests = testsIn([...new Set(links.map(({ path }) => path))], 'written');
    // Those whose names are made: by a contract, or for each of several journals.
    const made = links.filter((link) => !isShown(link, tests)).map(({ path }) => path);
    if (made.length > 0) tests.push(...testsIn([...new Set(made)], 'run'));
  }, 180_000);

  it('has a row for each line', () => {
    expect(cells.filter(({ journal }) => journal === 'memory').map(({ id }) => id)).toEqual(LINES);
  });

  it.each(links)('names for $id in $journal only tests that are there: $path', (link) => {
    expect(tests.filter(({ file }) => file === link.path)).not.toEqual([]);
    expect(isShown(link, tests)).toBe(true);
  });

  it.each(JOURNALS)('says why a line has no test in %s', (journal) => {
    const [, reasons = ''] = new RegExp(`^- ${journal} \\(([^)]+)\\): .`, 'm').exec(page) ?? [];
    const without = cells.filter((cell) => cell.journal === journal && cell.files.length === 0).map(({ id }) => id);
    expect(reasons.split(', ').filter((id) => id !== '')).toEqual(without);
  });
});
