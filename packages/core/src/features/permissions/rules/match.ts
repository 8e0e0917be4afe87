import type { CommandAccess, PathAccess, ToolAccess } from '../../../tools/access.ts';
import { absolutePattern, coversTree, matchesPath, matchesPathOrParent, mayMatchBelow } from './glob.ts';
import { normalHost } from './rule.ts';
import type { PermissionRule, Specifier, ToolPattern } from '../../../tools/permission-rule.ts';

/** A call as rules see it. */
export interface Subject {
  readonly toolName: string;
  /** What the call touches; null when the tool doesn't say, or couldn't. */
  readonly access: ToolAccess | null;
}

/** Whether a rule is about a call. `maybe`: it can't be told, so a rule that restrains must not be passed over. */
export type Matching = 'yes' | 'no' | 'maybe';

/** Whether a tool is the one that a rule names. */
export const namesTool = ({ kind, text, means }: ToolPattern, toolName: string): boolean =>
  kind === 'name' ? toolName === text || toolName === means[0] : toolName.startsWith(text);

/** Whether a tool is one that a rule is about which denies or asks. */
export const restrainsTool = (tool: ToolPattern, toolName: string): boolean =>
  namesTool(tool, toolName) || tool.means.includes(toolName);

/** Whether a rule that denies or asks is about a call: any part of the call is enough. */
export function restrains({ tool, specifier }: PermissionRule, { toolName, access }: Subject): Matching {
  if (!restrainsTool(tool, toolName)) return 'no';
  if (specifier === null) return 'yes';
  if (access === null) return 'maybe';
  if (specifier.kind === 'domain') return restrainsHosts(specifier.host, access.hosts);
  if (access.commands) return restrainsCommands(specifier, access.commands);
  if (specifier.kind === 'text' && access.paths) return restrainsPaths(specifier.text, access.paths, access.folder);
  // The rule is about something that the tool doesn't tell of.
  return 'maybe';
}

function restrainsHosts(pattern: string, hosts: readonly string[] | undefined): Matching {
  if (hosts === undefined) return 'maybe';
  return hosts.some((host) => matchesHost(pattern, host)) ? 'yes' : 'no';
}

function restrainsCommands(specifier: Exclude<Specifier, { kind: 'domain' }>, commands: CommandAccess): Matching {
  if (isWholeText(specifier, commands)) return 'yes';
  const { words } = specifier;
  if (words === null) return 'no';
  const isPrefix = specifier.kind === 'words';
  const all = commands.plain ? [...commands.named, ...commands.plain.map((plain) => plain.words)] : commands.named;
  if (
    all.some((named) => matchesWords(words, withoutFolder(named), isPrefix) || matchesWords(words, named, isPrefix))
  ) {
    return 'yes';
  }
  // Whatever could be named isn't it, and not everything could be named.
  return commands.plain === null || commands.uncertain === true ? 'maybe' : 'no';
}

function restrainsPaths(pattern: string, paths: readonly PathAccess[], folder: string | undefined): Matching {
  if (folder === undefined && !pattern.startsWith('/')) return paths.length === 0 ? 'no' : 'maybe';
  const absolute = absolutePattern(pattern, folder ?? '');
  let matching: Matching = 'no';
  for (const { path, given, recursive } of paths) {
    if (matchesPathOrParent(absolute, path) || (given !== undefined && matchesPathOrParent(absolute, given)))
      return 'yes';
    if (recursive === true && mayMatchBelow(absolute, path)) matching = 'maybe';
  }
  return matching;
}

/**
 * The rules that together allow a call, or null when they don't: everything the call touches has to be covered, each part
 * by any of them.
 */
export function allowing(
  rules: readonly PermissionRule[],
  { toolName, access }: Subject,
): readonly PermissionRule[] | null {
  const ofTool = rules.filter(({ tool }) => namesTool(tool, toolName));
  const bare = ofTool.find(({ specifier }) => specifier === null);
  if (bare) return [bare];
  if (access === null || ofTool.length === 0) return null;
  const used = new Set<PermissionRule>();
  const covered = (covers: (specifier: Specifier) => boolean): boolean => {
    const rule = ofTool.find(({ specifier }) => specifier !== null && covers(specifier));
    if (rule) used.add(rule);
    return rule !== undefined;
  };
  if (!allowsCommands(access, covered) || !allowsPaths(access, covered) || !allowsHosts(access, covered)) return null;
  return used.size === 0 ? null : [...used];
}

type Covered = (covers: (specifier: Specifier) => boolean) => boolean;

function allowsCommands({ commands }: ToolAccess, covered: Covered): boolean {
  if (!commands) return true;
  if (covered((specifier) => specifier.kind !== 'domain' && isWholeText(specifier, commands))) return true;
  if (commands.plain === null) return false;
  return commands.plain.every(
    ({ words, harmless }) =>
      covered(
        (specifier) =>
          specifier.kind !== 'domain' &&
          specifier.words !== null &&
          matchesWords(specifier.words, words, specifier.kind === 'words'),
      ) || harmless === true,
  );
}

/** Paths of commands are the commands' business: who allows `mkdir` allows it to make folders. */
function allowsPaths({ commands, paths = [], folder }: ToolAccess, covered: Covered): boolean {
  if (commands) return true;
  return paths.every(({ path, recursive }) =>
    covered((specifier) => {
      if (specifier.kind !== 'text') return false;
      if (folder === undefined && !specifier.text.startsWith('/')) return false;
      const pattern = absolutePattern(specifier.text, folder ?? '');
      return recursive === true ? coversTree(pattern, path) : matchesPath(pattern, path);
    }),
  );
}

function allowsHosts({ commands, hosts = [] }: ToolAccess, covered: Covered): boolean {
  if (commands) return true;
  return hosts.every((host) =>
    covered((specifier) => specifier.kind === 'domain' && matchesHost(specifier.host, host)),
  );
}

/** A text that is the whole call, to the letter: what was allowed once may be anything, also what no grammar reads. */
const isWholeText = (specifier: Exclude<Specifier, { kind: 'domain' }>, { text }: CommandAccess): boolean =>
  specifier.kind === 'text' && specifier.text === text.trim();

function matchesWords(wanted: readonly string[], words: readonly string[], prefix: boolean): boolean {
  if (prefix ? words.length < wanted.length : words.length !== wanted.length) return false;
  return wanted.every((word, index) => word === words[index]);
}

/** `/bin/rm -r a` is an `rm` too. */
const withoutFolder = ([program = '', ...rest]: readonly string[]): readonly string[] => [
  program.slice(program.lastIndexOf('/') + 1),
  ...rest,
];

/** `example.com` is that host only, `*.example.com` the hosts below it. */
function matchesHost(pattern: string, host: string): boolean {
  const normal = normalHost(host);
  return pattern.startsWith('*.') ? normal.endsWith(pattern.slice(1)) : normal === pattern;
}
