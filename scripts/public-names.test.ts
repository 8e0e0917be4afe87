// What users read about the public names and the error codes is complete.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { publicNames } from './public-names.ts';

const root = join(import.meta.dirname, '..');

describe('every public name', async () => {
  const entries = [...(await publicNames(root))];

  it.each(entries)('of %s has a doc comment', (_entry, names) => {
    expect(names.length).toBeGreaterThan(0);
    const without = names.filter(({ documented }) => !documented);
    expect(without.map(({ name, file }) => `${name} in ${file}`)).toEqual([]);
  });
});

describe('docs/errors.md', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');

  /** The codes of a type that is a union of texts. */
  function codesOf(file: string, type: string): readonly string[] {
    const source = readFileSync(join(root, 'packages', file), 'utf8').replaceAll(/\/\*\*.*?\*\//gs, '');
    const union = source.slice(source.indexOf(`export type ${type} =`)).split(';')[0] ?? '';
    return [...union.matchAll(/\| '(\w+)'/g)].map(([, code = '']) => code);
  }

  const section = (heading: string): string => page.split(`## ${heading}\n`)[1]?.split(/\n## /)[0] ?? '';

  it('has a section of each code of TreadleError, and of nothing else', () => {
    const headings = [...section('TreadleError').matchAll(/^### (\w+)$/gm)].map(([, code = '']) => code);
    expect(headings).toEqual(codesOf('core/src/errors.ts', 'TreadleErrorCode'));
  });

  it.each([
    ['Responses of a server', 'server/src/problem.ts', 'ServerErrorCode'],
    ['HttpProblem', 'http/src/problem.ts', 'HttpProblemCode'],
    ['OpenApiProblem', 'openapi/src/problem.ts', 'OpenApiProblemCode'],
    ['McpProblem', 'mcp/src/client/problem.ts', 'McpProblemCode'],
    ['FileProblem', 'tools/src/root/problem.ts', 'FileProblemCode'],
  ])('has each code of %s, and nothing else', (heading, file, type) => {
    const rows = [...section(heading).matchAll(/^\| `(\w+)`/gm)].map(([, code = '']) => code);
    expect(rows.toSorted()).toEqual(codesOf(file, type).toSorted());
    expect(rows.length).toBeGreaterThan(0);
  });
});
