import type { ToolAccess } from '../../tools/access.ts';
import { isInside } from './rules/glob.ts';
import { readRule } from './rules/rule.ts';
import type { PermissionUpdate } from '../../events/permission-updates.ts';
import { joinWords } from './rules/words.ts';

/**
 * The updates that would let calls like this one run from now on, the narrowest first: what a person is offered beside yes
 * and no. They are for the session; whoever remembers longer changes the destination.
 */
export function suggestUpdates(toolName: string, access: ToolAccess | null): readonly PermissionUpdate[] {
  return rulesFor(toolName, access)
    .filter((rules) => rules.length > 0 && rules.every(isExact))
    .map((rules) => ({ type: 'addRules', rules, behavior: 'allow', destination: 'session' }));
}

/** Whether a rule can be written and means what it quotes: a name may have a star in it, or end like a prefix. */
function isExact(rule: string): boolean {
  if (rule.endsWith('(**)')) return true;
  try {
    const { specifier } = readRule(rule, 'session');
    return specifier?.kind !== 'words';
  } catch {
    return false;
  }
}

function rulesFor(toolName: string, access: ToolAccess | null): readonly (readonly string[])[] {
  if (access === null) return [[toolName]];
  const { commands, paths = [], hosts = [], folder } = access;
  if (commands) {
    if (commands.plain === null) return isOneLine(commands.text) ? [[`${toolName}(${commands.text.trim()})`]] : [];
    const asked = commands.plain.filter(({ harmless }) => harmless !== true).map(({ words }) => words);
    return [unique(asked.map((words) => `${toolName}(${joinWords(words)})`))];
  }
  if (hosts.length > 0) return [unique(hosts.map((host) => `${toolName}(domain:${host})`))];
  // A star in a name would mean any name.
  if (paths.some(({ path }) => /[*?]/.test(path))) return [];
  if (paths.length > 0 && folder !== undefined && paths.every(({ path }) => isInside(path, folder))) {
    return [unique(paths.map(({ path }) => `${toolName}(${relativeTo(folder, path)})`)), [`${toolName}(**)`]];
  }
  return paths.length > 0 ? [unique(paths.map(({ path }) => `${toolName}(${path})`))] : [[toolName]];
}

/** A rule is one line that a person can read. */
const isOneLine = (text: string): boolean => text.trim() !== '' && text.length <= 2000 && !/[\n\r]/.test(text.trim());

const unique = (rules: readonly string[]): string[] => [...new Set(rules)];

const relativeTo = (folder: string, path: string): string =>
  path === folder ? '.' : path.slice(folder.length + (folder.endsWith('/') ? 0 : 1));
