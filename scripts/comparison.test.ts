import { describe, expect, it } from 'vitest';

import { conceptsOf, linesOf, table, tableInPage } from './comparison.ts';

describe('docs/comparison.md', () => {
  it('has the counts of the programs (`node scripts/comparison.ts` writes them)', () => {
    expect(tableInPage()).toBe(table());
  });
});

describe('a program', () => {
  const source = `// A comment.
import process from 'node:process';
import { one, type Two } from '@some/library';
import { other } from 'another';

// #region the model
const model = 1;
// #endregion

/* Output:
1
*/
console.log(one, process.argv); // A line.
`;

  it('is counted without comments, blank lines and its scripted model', () => {
    expect(linesOf(source)).toBe(4);
  });

  it('has the concepts that it imports from its library', () => {
    expect(conceptsOf(source, /^@some\//)).toEqual(['one', 'Two']);
  });
});
