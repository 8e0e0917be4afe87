import type { CommandAccess, PathAccess, PlainCommand } from '@treadle/core';
import { errorText } from '@treadle/core';
import { access, constants, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { relativeToRoots } from '../../root/components.ts';
import { realPath } from '../../root/real-path.ts';
import { analyseCommand } from '../grammar/analyse.ts';
import { gitReason } from './git-settings.ts';
import { matchRule } from './rule.ts';
import type { RuleMatch } from './rule.ts';
import { readOnlyRules } from './rules.ts';

/** Where a command runs. */
export interface CommandPlace {
  /** The real path of the working folder. */
  readonly root: string;
  /** Its variables: `PATH` says which program a name means. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What a command does, as far as its text tells. */
export interface CommandFacts {
  readonly commands: CommandAccess;
  /** True when every part only looks, inside the working folder: it may run without being asked for. */
  readonly readOnly: boolean;
  /** The files and folders that its parts name, of those parts that are known. */
  readonly paths: readonly PathAccess[];
  /** Why it is not read-only. */
  readonly reason?: string;
}

/** Folders that a command may be in after several `cd`, each of which may have failed. */
const mostFolders = 16;

/**
 * Says of a bash command whether it only looks: it parses into plain words, each of its parts is on the list of commands
 * that change nothing, with no flag that isn't, the programs are not files of the working folder, and every file they
 * name is inside it, by its real path. Runs nothing and changes nothing.
 *
 * @example
 * ```ts
 * import { commandAccess } from '@treadle/tools';
 *
 * const place = { root: process.cwd(), environment: process.env };
 * console.log((await commandAccess('ls -la | head -3', place)).readOnly); // true
 * console.log((await commandAccess('cat ~/.ssh/id_rsa', place)).readOnly); // false
 * console.log((await commandAccess('find . -name "*.tmp" -delete', place)).reason);
 * ```
 */
export async function commandAccess(text: string, place: CommandPlace): Promise<CommandFacts> {
  const { plain, named, reason = '' } = await analyseCommand(text);
  if (plain === null) return { commands: { text, plain, named }, readOnly: false, paths: [], reason };
  const found: PlainCommand[] = [];
  const paths: PathAccess[] = [];
  const reasons: string[] = [];
  let folders: readonly string[] = [place.root];
  for (const words of plain) {
    const one = await judge(words, folders, place);
    found.push({ words, ...(one.reason === undefined && { readOnly: true }) });
    paths.push(...one.paths);
    if (one.reason !== undefined) reasons.push(one.reason);
    folders = one.folders;
  }
  const [first] = reasons;
  return {
    commands: { text, plain: found, named },
    readOnly: first === undefined,
    paths,
    ...(first !== undefined && { reason: first }),
  };
}

interface Judgement {
  /** Undefined when the command only looks. */
  readonly reason: string | undefined;
  readonly paths: readonly PathAccess[];
  /** Where the shell may be afterwards. */
  readonly folders: readonly string[];
}

async function judge(words: readonly string[], folders: readonly string[], place: CommandPlace): Promise<Judgement> {
  try {
    if (words[0] === 'cd') return await changeFolder(words, folders, place);
    const match = matchRule(readOnlyRules(), words);
    if (match === undefined) {
      return { reason: `${shown(words)} is not known to change nothing`, paths: [], folders };
    }
    const paths = await resolved(match, words, folders);
    const reason = (await programReason(match, words, place)) ?? outsideReason(paths, place.root);
    if (reason !== undefined || words[0] !== 'git') return { reason, paths, folders };
    const git = await Promise.all(folders.map((folder) => gitReason(folder, place.root)));
    return { reason: git.find((one) => one !== undefined), paths, folders };
  } catch (error) {
    return { reason: `what ${shown(words)} touches can not be found out (${errorText(error)})`, paths: [], folders };
  }
}

function shown(words: readonly string[]): string {
  const text = words.slice(0, 4).join(' ');
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** `cd` is followed: where it may have failed, all that comes after must hold in both folders. */
async function changeFolder(
  words: readonly string[],
  folders: readonly string[],
  { root, environment }: CommandPlace,
): Promise<Judgement> {
  const [, target, ...more] = words;
  if (target === undefined || more.length > 0 || target.startsWith('-') || environment['CDPATH'] !== undefined) {
    return { reason: `where ${shown(words)} leads is not known`, paths: [], folders };
  }
  const targets = await Promise.all(folders.map((folder) => realPath(resolve(folder, target))));
  const all = [...new Set([...folders, ...targets])];
  const outside = targets.find((folder) => relativeToRoots(folder, [root]) === undefined);
  if (outside !== undefined) return { reason: `${outside} is outside the working folder`, paths: [], folders: all };
  const reason = all.length > mostFolders ? 'it changes the folder too often' : undefined;
  return { reason, paths: [], folders: all.slice(0, mostFolders) };
}

/** Programs that look at the folder they are in, and at what is below it, when they are told nothing else. */
const walkers = new Set(['find', 'rg', 'du', 'tree']);

async function resolved(
  match: RuleMatch,
  words: readonly string[],
  folders: readonly string[],
): Promise<readonly PathAccess[]> {
  const walks = walkers.has(words[0] ?? '') || words.some((word) => /^-\w*[rR]|^--recursive$/.test(word));
  const given = walks && match.paths.length === 0 ? ['.'] : match.paths;
  const paths: PathAccess[] = [];
  for (const folder of folders) {
    for (const word of given) {
      if (word === '-') continue;
      const literal = resolve(folder, word);
      const path = await realPath(literal);
      paths.push({
        path,
        ...(literal !== path && { given: literal }),
        write: false,
        ...(walks && { recursive: true }),
      });
    }
  }
  return paths;
}

function outsideReason(paths: readonly PathAccess[], root: string): string | undefined {
  const outside = paths.find(
    ({ path, given }) =>
      relativeToRoots(path, [root]) === undefined || relativeToRoots(given ?? path, [root]) === undefined,
  );
  return outside === undefined ? undefined : `${outside.path} is outside the working folder`;
}

/** Variables by which a program of the list is made to run another one. */
const startsOthers: Readonly<Record<string, readonly string[]>> = {
  rg: ['RIPGREP_CONFIG_PATH'],
  git: ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_EXTERNAL_DIFF', 'GIT_EXEC_PATH'],
};

/** Why the name may mean another program than the one on the list. */
async function programReason(
  { rule }: RuleMatch,
  [program = '']: readonly string[],
  { root, environment }: CommandPlace,
): Promise<string | undefined> {
  const variable = startsOthers[program]?.find((name) => environment[name] !== undefined);
  if (variable !== undefined) return `the variable ${variable} changes what ${program} does`;
  if (rule.builtIn === true) return undefined;
  for (const folder of (environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(':')) {
    if (!isAbsolute(folder)) return `PATH has ${JSON.stringify(folder)}, so ${program} may be any file`;
    const candidate = join(folder, program);
    if (!(await isProgram(candidate))) continue;
    const inside = [candidate, await realPath(candidate)].some((path) => relativeToRoots(path, [root]) !== undefined);
    return inside ? `${program} is a file of the working folder` : undefined;
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
