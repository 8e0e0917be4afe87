import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** What stands for another version of a package in `compat`. */
const ALIAS = /^npm:(.+)@([^@]+)$/;

/** The clients that a test file names, each with what its tests say it does: the words before a colon. */
function clientsIn(text: string): { readonly name: string; readonly features: readonly string[] }[] {
  return text
    .split(/^describe/m)
    .slice(1)
    .flatMap((block) => {
      const each = /^\.each\(\[([\s\S]*?)\n\]\)/.exec(block)?.[1];
      const names =
        each === undefined
          ? /^\('([^']+)'/.exec(block)?.slice(1)
          : [...each.matchAll(/^ {2}\['([^']+)'/gm)].map(([, name]) => name);
      const features = [...block.matchAll(/^\s+it\(\s*'([^':]+)/gm)].map(([, feature = '']) => feature);
      return (names ?? []).map((name = '') => ({ name, features }));
    });
}

function table(): string {
  const { dependencies } = JSON.parse(read('compat/clients/package.json')) as { dependencies: Record<string, string> };
  const rows = globSync('compat/clients/*.system.test.ts', { cwd: root })
    .toSorted()
    .flatMap((file) => clientsIn(read(file)))
    .map(({ name, features }) => {
      const given = dependencies[name] ?? '';
      const [, client = name, version = given] = ALIAS.exec(given) ?? [];
      return [client, version, features.join('; ')];
    });
  const all = [['client', 'version', 'tested'], ...rows];
  const widths = [0, 1, 2].map((at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...others] = all;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others.map(line)].join('\n');
}

it('docs/chat-protocols.md has the table of the clients that are tested', () => {
  expect(read('docs/chat-protocols.md')).toContain(table());
});
