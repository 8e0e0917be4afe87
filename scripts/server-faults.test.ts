import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../packages/server');
const page = readFileSync(join(folder, 'FAULTS.md'), 'utf8');

/** The lines of faults that are about the server, and the one about secrets. */
const LINES = 'V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V12 V13 V14 V15 V16 R9'.split(' ');

const rows = [...page.matchAll(/^\| ([VR]\d+) +\|.*$/gm)].map(([row, id = '']) => ({
  id,
  files: [...row.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file = '']) => file),
}));

describe('the faults of packages/server/FAULTS.md', () => {
  it('are all there are', () => {
    expect(rows.map(({ id }) => id)).toEqual(LINES);
  });

  it.each(rows.flatMap(({ id, files }) => files.map((file) => ({ id, file }))))(
    '$id is in the title of a test in $file',
    ({ id, file }) => {
      const source = readFileSync(join(folder, file), 'utf8');
      // A title begins with the ids it shows; `it.each` has its cases before it.
      expect(source).toMatch(new RegExp(`^ *(?:it|describe|\\]\\)|it\\.each\\(.*\\))?\\(?['\`]${id}\\b`, 'm'));
    },
  );
});
