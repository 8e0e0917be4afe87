// @module-tag slow

// Each example is run as its reader would run it, and prints what its last lines say.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { linksOf, matchesOutput, outputIn } from '../scripts/docs/blocks.ts';
import { executeProgram } from '../scripts/docs/execute.ts';
import { root } from '../scripts/docs/files.ts';

const TIMEOUT_MS = 60_000;

vi.setConfig({ maxConcurrency: 2, testTimeout: 2 * TIMEOUT_MS });

const read = (file: string): string => readFileSync(join(root, 'examples', file), 'utf8');

const files = readdirSync(join(root, 'examples')).toSorted();
const examples = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));

describe.concurrent('the example', () => {
  it.each(examples)('%s prints what it says, and leaves nothing behind', async (file) => {
    const shown = outputIn(read(file), file);
    const { code, stdout, stderr, left } = await executeProgram(`examples/${file}`, TIMEOUT_MS);
    const printed = matchesOutput(shown, stdout) ? shown : stdout;
    expect({ code, stderr, printed, left }).toEqual({ code: 0, stderr: '', printed: shown, left: [] });
  });
});

describe('the examples', { tags: ['share'] }, () => {
  it('are numbered from 01 on, and all in the list', () => {
    const numbers = examples.map((file) => /^\d\d(?=-[a-z-]+\.ts$)/.exec(file)?.[0]);
    expect(numbers).toEqual(examples.map((_, index) => String(index + 1).padStart(2, '0')));
    expect(linksOf(read('README.md'))).toEqual(expect.arrayContaining(examples));
  });

  it.each(examples)('are short, and begin by saying what they show: %s', (file) => {
    const source = read(file);
    const code = source.slice(0, source.indexOf('\n/* Output:')).split('\n');
    expect(code.slice(0, 3).map((line) => line.startsWith('// '))).toEqual([true, true, false]);
    expect(code.length).toBeLessThanOrEqual(72);
  });
});
