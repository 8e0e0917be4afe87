import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const docs = join(import.meta.dirname, '..', 'docs');
const page = readFileSync(join(docs, 'reliability.md'), 'utf8');

/** The rows of the matrix: an id, and the test files of its cells. */
const rows = page.split('\n').flatMap((line) => {
  const [, id] = /^\| ([A-Z]\d+) +\|/.exec(line) ?? [];
  const files = [...line.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file]) => file ?? '');
  return id === undefined ? [] : [{ id, files: [...new Set(files)] }];
});

describe('the matrix of docs/reliability.md', () => {
  it('has a test in each row', () => {
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter(({ files }) => files.length === 0)).toEqual([]);
  });

  it.each(rows.flatMap(({ id, files }) => files.map((file) => [id, file] as const)))(
    'names for %s only tests that are there: %s',
    (id, file) => {
      const path = join(docs, file);
      expect(existsSync(path)).toBe(true);
      // In the title, before its colon, beside others maybe.
      const title = new RegExp(`['"\`](?:[A-Z]\\d+, )*${id}(?:, [A-Z]\\d+)*: `);
      expect(readFileSync(path, 'utf8')).toMatch(title);
    },
  );
});
