import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hitParser, ripgrepArguments, type Hit } from './ripgrep.ts';

const query = { pattern: 'x', caseSensitive: false, limit: 5, glob: undefined, skip: new Set<string>() };

test('the pattern and the target can not be taken for options', () => {
  const args = ripgrepArguments({ ...query, pattern: '--pre=evil' }, { folder: '-rf', file: undefined }, '/work');
  expect(args.slice(-4)).toEqual(['-e', '--pre=evil', '--', './-rf']);
});

test('configuration, ignore files and links are not followed', () => {
  const args = ripgrepArguments(query, { folder: '.', file: undefined }, '/work');
  expect(args).toEqual(expect.arrayContaining(['--no-config', '--no-ignore', '--hidden', '--no-follow', '--null']));
  expect(args.at(-1)).toBe('./');
});

test('the glob means the folder or the root; skipped folders come last', () => {
  const skip = new Set(['.git', 'a*b']);
  const globs = (glob: string, folder: string): string[] =>
    ripgrepArguments({ ...query, glob, skip }, { folder, file: undefined }, '/work').filter(
      (_, index, all) => all[index - 1] === '--glob',
    );
  expect(globs('*.ts', 'src')).toEqual(['*.ts', '!.git/', '!a\\*b/']);
  expect(globs('lib/*.ts', 'src[1]')).toEqual(['/lib/*.ts', '/src\\[1\\]/lib/*.ts', '!.git/', '!a\\*b/']);
});

test('case is ignored unless it counts', () => {
  const scope = { folder: '.', file: undefined };
  expect(ripgrepArguments(query, scope, '/work')).toContain('--ignore-case');
  expect(ripgrepArguments({ ...query, caseSensitive: true }, scope, '/work')).toContain('--case-sensitive');
});

test('hits are the same however the output is cut; paths may contain line feeds and colons', () => {
  const hit = fc.record({
    path: fc.string({ unit: fc.constantFrom('a', '/', '\n', ':', 'é', '1'), minLength: 1, maxLength: 8 }),
    line: fc.integer({ min: 1, max: 100_000 }),
    column: fc.integer({ min: 1, max: 100_000 }),
  });
  fc.assert(
    fc.property(fc.array(hit, { maxLength: 5 }), fc.integer({ min: 1, max: 9 }), (hits, size) => {
      const output = Buffer.from(
        hits.map(({ path, line, column }) => `./${path}\0${line}:${column}:[Omitted]\n`).join(''),
      );
      const parsed: Hit[] = [];
      const parser = hitParser((one) => parsed.push(one));
      for (let at = 0; at < output.length; at += size) parser.push(output.subarray(at, at + size));
      expect(parsed).toEqual(hits);
    }),
  );
});
