import { join } from 'node:path';

import { ownName } from './tools.ts';

/** How paths in rules are read: `//x` is absolute, `/x` begins where the rules are from, `~/x` in the home folder. */
export interface RulePlace {
  /** Where `/x` begins. */
  readonly base: string;
  readonly home: string | undefined;
}

const OF_FILES: ReadonlySet<string> = new Set(['read_file', 'write_file', 'edit_file', 'list_files', 'search']);

/** Whether rules of this tool are about paths. */
export const isAboutFiles = (name: string): boolean => OF_FILES.has(ownName(name));

/** A rule of the protocol as core writes it. The names of tools are known to core. */
export function ownRule(rule: string, { base, home }: RulePlace): string {
  const [, name = rule, inside] = /^([^(]+)\((.*)\)$/s.exec(rule.trim()) ?? [];
  if (inside === undefined || !isAboutFiles(name)) return rule;
  return `${name}(${ownPath(inside, base, home)})`;
}

function ownPath(path: string, base: string, home: string | undefined): string {
  if (path.startsWith('//')) return path.slice(1);
  if (path.startsWith('~/') && home !== undefined) return join(home, path.slice(2));
  if (path.startsWith('/')) return join(base, path);
  return path.startsWith('./') ? path.slice(2) : path;
}
