import { errorText } from '@treadle/core';
import type { CommandAccess, PathAccess, PlainCommand } from '@treadle/core/tools';
import { access, constants, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { relativeToRoots } from '../../root/components.ts';
import { MISSING, unless } from '../../root/problem.ts';
import { realPath } from '../../root/real-path.ts';
import { analyseCommand } from '../grammar/analyse.ts';
import { gitPlace } from './git-place.ts';
import { matchRule, type RuleMatch } from './rule.ts';
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
  /**
   * True when every part seems only to read, inside the working folder. It is a first filter: let such a command run
   * unasked only in a sandbox that shows it the working folder, the system's programs and `view`.
   */
  readonly readOnly: boolean;
  /** Files and folders outside the working folder that its programs need: their own files, and git's. */
  readonly view: readonly string[];
  /** The files and folders that its parts name, of those parts that are known. */
  readonly paths: readonly PathAccess[];
  /** Why it is not read-only. */
  readonly reason?: string;
}

/** Folders that a command may be in after several `cd`, each of which may have failed. */
const mostFolders = 16;

/**
 * Says of a bash command whether it seems only to read: it parses into plain words, each of its parts is on the list of
 * commands that change nothing, with no flag that isn't, the programs are not files of the working folder, and every file
 * they name is inside it, by its real path. Runs nothing and changes nothing.
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
  const { plain, piped, named, uncertain, reason = '' } = await analyseCommand(text);
  if (plain === null) return { commands: { text, plain, named }, readOnly: false, view: [], paths: [], reason };
  const harmless: boolean[] = [];
  const paths: PathAccess[] = [];
  const view = new Set<string>();
  const reasons: string[] = [];
  let folders: readonly string[] = [place.root];
  for (const words of plain) {
    const one = await judge(words, folders, place);
    harmless.push(one.isHarmless);
    paths.push(...one.paths);
    for (const path of one.view) view.add(path);
    if (one.reason !== undefined) reasons.push(one.reason);
    folders = one.folders;
  }
  // What goes into a program may say what the program does.
  for (let at = harmless.length - 2; at >= 0; at -= 1) {
    if (piped?.[at] === true && harmless[at + 1] !== true) harmless[at] = false;
  }
  const found = plain.map((words, at): PlainCommand => ({ words, ...(harmless[at] === true && { harmless: true }) }));
  const [first] = reasons;
  return {
    commands: { text, plain: found, named, ...(uncertain && { uncertain }) },
    readOnly: first === undefined,
    view: [...view].filter((path) => relativeToRoots(path, [place.root]) === undefined),
    paths,
    ...(first !== undefined && { reason: first }),
  };
}

interface Judgement {
  /** Undefined when the command seems only to read. */
  readonly reason: string | undefined;
  /** Whether it touches nothing but its input and output. */
  readonly isHarmless: boolean;
  readonly paths: readonly PathAccess[];
  readonly view: readonly string[];
  /** Where the shell may be afterwards. */
  readonly folders: readonly string[];
}

const askFor = (folders: readonly string[], reason: string, paths: readonly PathAccess[] = []): Judgement => ({
  reason,
  isHarmless: false,
  paths,
  view: [],
  folders,
});

async function judge(words: readonly string[], folders: readonly string[], place: CommandPlace): Promise<Judgement> {
  const asks = (reason: string, paths?: readonly PathAccess[]): Judgement => askFor(folders, reason, paths);
  try {
    if (words[0] === 'cd') return await changeFolder(words, folders, place);
    const match = matchRule(readOnlyRules(), words);
    if (match === undefined) return asks(`${shown(words)} is not known to change nothing`);
    const walks = walksFolders(words);
    const paths = await resolved(match, walks, folders);
    const needs = [
      ...(await programsOf(match, words, place)),
      ...(await problemsOf(match, paths, place.root)),
      ...(await gitOf(words, folders, place.root)),
    ];
    const problem = needs.find((need) => typeof need !== 'string');
    if (problem !== undefined) return asks(problem.reason, paths);
    const view = needs.filter((need) => typeof need === 'string');
    const isHarmless = match.rule.filter === true && match.paths.length === 0 && !walks;
    return { reason: undefined, isHarmless, paths, view, folders };
  } catch (error) {
    return asks(`what ${shown(words)} touches can not be found out (${errorText(error)})`);
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
  const asks = (reason: string, paths?: readonly PathAccess[]): Judgement => askFor(folders, reason, paths);
  const [, target, ...more] = words;
  if (target === undefined || more.length > 0 || target.startsWith('-') || environment['CDPATH'] !== undefined) {
    return asks(`where ${shown(words)} leads is not known`);
  }
  const all = new Set(folders);
  for (const folder of folders) {
    const path = await realPath(target, folder);
    // A shell remembers the links it went through, and a later `..` goes back on them.
    if (path !== resolve(folder, target)) return asks(`${target} leads through a symbolic link`);
    if (relativeToRoots(path, [root]) === undefined) return asks(`${path} is outside the working folder`);
    all.add(path);
  }
  if (all.size > mostFolders) return asks('it changes the folder too often');
  // Elsewhere, the words of a rule may mean another program.
  const isHarmless = [...all].every((folder) => folder === root);
  return { reason: undefined, isHarmless, paths: [], view: [], folders: [...all] };
}

/** Programs that look at the folder they are in, and at what is below it, when they are told nothing else. */
const walkers = new Set(['find', 'rg', 'du', 'tree']);

const walksFolders = (words: readonly string[]): boolean =>
  walkers.has(words[0] ?? '') || words.some((word) => /^-\w*[rR]|^--recursive$/.test(word));

async function resolved(match: RuleMatch, walks: boolean, folders: readonly string[]): Promise<readonly PathAccess[]> {
  const given = walks && match.paths.length === 0 ? ['.'] : match.paths;
  const paths: PathAccess[] = [];
  for (const folder of folders) {
    for (const word of given) {
      if (word === '-') continue;
      const literal = resolve(folder, word);
      const path = await realPath(word, folder);
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

/** Something that a command needs in its view, or why it must be asked for. */
type Need = string | { readonly reason: string };

/** What keeps the paths of a command from being read unasked. */
async function problemsOf({ rule }: RuleMatch, paths: readonly PathAccess[], root: string): Promise<readonly Need[]> {
  for (const { path } of paths) {
    if (relativeToRoots(path, [root]) === undefined) return [{ reason: `${path} is outside the working folder` }];
    const stats = await unless(stat(path), ...MISSING);
    if (stats === undefined) continue;
    // Somebody outside may be at its other end.
    if (!stats.isFile() && !stats.isDirectory()) return [{ reason: `${path} is a device, socket or pipe` }];
    // Its other names may be outside.
    if (stats.isFile() && stats.nlink > 1) return [{ reason: `${path} has several hard links` }];
    if (rule.filesOnly === true && stats.isDirectory()) return [{ reason: `${path} is a folder` }];
  }
  return [];
}

/** What git reads in each of the folders that the command may run in. */
async function gitOf([program]: readonly string[], folders: readonly string[], root: string): Promise<readonly Need[]> {
  if (program !== 'git') return [];
  const places = await Promise.all(folders.map((folder) => gitPlace(folder, root)));
  return places.flatMap((place): readonly Need[] => ('reason' in place ? [place] : place.folders));
}

/** The files of the programs that a command runs or looks up. */
async function programsOf(
  { rule, programs }: RuleMatch,
  [program = '']: readonly string[],
  place: CommandPlace,
): Promise<readonly Need[]> {
  const names = rule.builtIn === true ? programs : [program, ...programs];
  return (await Promise.all(names.map((name) => programFile(name, place)))).flat();
}

/** Where `PATH` has a program: its own path and that of the file behind it. Nothing when there is none. */
async function programFile(program: string, { root, environment }: CommandPlace): Promise<readonly Need[]> {
  for (const folder of (environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(':')) {
    if (!isAbsolute(folder)) return [{ reason: `PATH has ${JSON.stringify(folder)}, so ${program} may be any file` }];
    const candidate = join(folder, program);
    if (!(await isProgram(candidate))) continue;
    const files = [candidate, await realPath(candidate)];
    const isInside = files.some((path) => relativeToRoots(path, [root]) !== undefined);
    return isInside ? [{ reason: `${program} is a file of the working folder` }] : files;
  }
  return [];
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
