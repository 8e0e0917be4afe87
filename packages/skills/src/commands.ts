import { errorText } from '@treadle/core';

import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';

import { FENCED, splitFrontMatter, type FrontMatter } from './front-matter.ts';
import { problemOf, type SkillFolder } from './load.ts';
import { rulesOf, textOf, type SkillProblem, type SkillProblemCode } from './skill.ts';
import { readTextFile } from './text-file.ts';

/** A folder with Markdown files, each a command, or one such file. */
export interface CommandFolder extends SkillFolder {
  /** Stands before the names, as in `kit:review`: the name of a plugin. */
  readonly namespace?: string;
  /** Values for `${NAME}` in the texts, such as `CLAUDE_PLUGIN_ROOT`. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** A prompt with a name: a Markdown file in a folder `commands`. A user types `/name` and arguments. */
export interface Command {
  /** The path below its folder, without `.md` and with `:` for `/`, such as `review` or `db:migrate`. */
  readonly name: string;
  /** From the front matter; without one, the first line of the text. */
  readonly description: string;
  /** What to type after the name, such as `[file] [words]`. Empty when the file doesn't say. */
  readonly argumentHint: string;
  readonly path: string;
  /** Where it comes from: the label of the folder it was found in, such as `user` or `project`. */
  readonly source: string;
  /** Permission rules that `allowed-tools` suggests. They grant nothing. */
  readonly suggestedRules: readonly string[];
  /**
   * The prompt. `$ARGUMENTS` is all of `args`, `$1` to `$9` are its words; quotes keep words together. Arguments that the
   * text doesn't name stand below it. Nothing runs and no file is read.
   */
  expand(args: string): string;
}

/** Commands by name, and what was wrong with others. */
export interface CommandSet {
  /** Sorted by name. */
  readonly commands: readonly Command[];
  readonly problems: readonly SkillProblem[];
}

const MAX_DEPTH = 4;
const MAX_FILES = 500;
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*(?::[\p{L}\p{N}_.-]+)*$/u;
const KNOWN: readonly string[] = ['name', 'description', 'argument-hint', 'allowed-tools'];

/**
 * Loads the commands of folders. Of two with one name, that of the later folder wins. A folder that isn't there has none.
 * Nothing fails: what can't be used is in `problems`.
 *
 * @example
 * ```ts
 * import { expandCommand, loadCommands } from '@treadle/skills';
 *
 * const set = await loadCommands(['.treadle/commands']);
 * const prompt = expandCommand(set, '/review src/main.ts') ?? 'There is no command review.';
 * ```
 */
export async function loadCommands(folders: readonly (string | CommandFolder)[]): Promise<CommandSet> {
  const byName = new Map<string, Command>();
  const problems: SkillProblem[] = [];
  for (const given of folders) {
    const folder = typeof given === 'string' ? { path: given } : given;
    for (const file of await filesIn(folder.path, problems)) {
      const command = await readCommand(file, folder, problems);
      if (command === null) continue;
      const old = byName.get(command.name);
      if (old) problems.push(problemOf('warning', 'shadowed', old.path, `replaced by ${command.path}`));
      byName.set(command.name, command);
    }
  }
  return { commands: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

/**
 * The prompt that a text like `/review src/main.ts` stands for; null when it names no command. A command of a folder or
 * plugin is also found without what stands before its last `:`, where only one has that name.
 */
export function expandCommand({ commands }: Pick<CommandSet, 'commands'>, text: string): string | null {
  const [, name, args = ''] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  if (name === undefined) return null;
  const [short, ...others] = commands.filter((command) => command.name.endsWith(`:${name}`));
  const command = commands.find((each) => each.name === name) ?? (others.length === 0 ? short : undefined);
  return command?.expand(args.trim()) ?? null;
}

/** The Markdown files in a folder and below, sorted. Folders that are links are left out. */
async function filesIn(path: string, problems: SkillProblem[]): Promise<readonly string[]> {
  const stats = await stat(path).catch(() => null);
  if (stats?.isFile()) return [path];
  const files: string[] = [];
  async function scan(folder: string, depth: number): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const child = join(folder, entry.name);
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory()) {
        if (depth < MAX_DEPTH) await scan(child, depth + 1);
      } else if (entry.name.endsWith('.md')) files.push(child);
    }
  }
  if (stats?.isDirectory()) {
    await scan(path, 0).catch((error: unknown) =>
      problems.push(problemOf('error', 'unreadable', path, errorText(error))),
    );
  }
  if (files.length > MAX_FILES)
    problems.push(problemOf('error', 'too_many', path, `more than ${MAX_FILES} files: the rest is left out`));
  return files.toSorted().slice(0, MAX_FILES);
}

async function readCommand(path: string, folder: CommandFolder, problems: SkillProblem[]): Promise<Command | null> {
  const { within, hardLinks = 'refuse', namespace, variables = {}, source = folder.path } = folder;
  const say = (severity: SkillProblem['severity'], code: SkillProblemCode, message: string): null => {
    problems.push(problemOf(severity, code, path, message));
    return null;
  };
  const isFile = folder.path === path;
  const root = isFile ? dirname(path) : folder.path;
  const below = relative(root, path).slice(0, -'.md'.length).split(sep).join(':');
  const name = namespace === undefined ? below : `${namespace}:${below}`;
  if (!NAME.test(name)) return say('error', 'bad_name', `${JSON.stringify(name)} is no name of a command`);
  const bound = within ?? root;
  const text = await readTextFile(bound, relative(bound, path), hardLinks).catch((error: unknown) =>
    say('error', 'unreadable', errorText(error)),
  );
  if (text === null) return null;
  let front: Pick<FrontMatter, 'fields' | 'body'>;
  try {
    // Most are nothing but their text.
    front = FENCED.test(text) ? await splitFrontMatter(text) : { fields: {}, body: text.replace(/^\uFEFF/, '').trim() };
  } catch (error) {
    return say('error', 'bad_front_matter', errorText(error));
  }
  const { fields, body } = front;
  if (body === '') return say('error', 'bad_description', 'it has no text');
  const unknown = Object.keys(fields).filter((key) => !KNOWN.includes(key));
  if (unknown.length > 0) say('warning', 'unknown_key', `${unknown.join(', ')} has no effect here`);
  if (/(^|\s)!`/.test(body)) say('warning', 'not_run', 'commands between !` and ` are left as text: nothing runs');
  const hint = fields['argument-hint'];
  return {
    name,
    description: textOf(fields['description']) || (body.split('\n', 1)[0] ?? '').replace(/^#+\s*/, '').slice(0, 200),
    argumentHint: Array.isArray(hint) ? `[${hint.join(', ')}]` : textOf(hint),
    path,
    source,
    suggestedRules: rulesOf(fields['allowed-tools']),
    expand: (args) => expanded(body, args, variables),
  };
}

/** In one pass: an argument that looks like a variable is none. */
function expanded(body: string, args: string, variables: Readonly<Record<string, string>>): string {
  const words = [...args.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
  let isUsed = false;
  const text = body.replace(
    /\$ARGUMENTS\b|\$([1-9])(?!\d)|\$\{(\w+)\}/g,
    (whole, number: string | undefined, name: string | undefined) => {
      if (name !== undefined) return Object.hasOwn(variables, name) ? (variables[name] ?? whole) : whole;
      isUsed = true;
      return number === undefined ? args : (words[Number(number) - 1] ?? '');
    },
  );
  return isUsed || args === '' ? text : `${text}\n\nARGUMENTS: ${args}`;
}
