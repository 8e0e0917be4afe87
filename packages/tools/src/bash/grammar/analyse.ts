import { errorText } from '@treadle/core';
import { namedIn, namedRoughly } from './name.ts';
import { parseBash } from './parser.ts';
import { plainOf, type Plain } from './plain.ts';

/** What a shell command consists of, as far as it can be told before it runs. */
export interface CommandAnalysis {
  /**
   * The words of each command, quotes taken off, when the text is nothing but plain words joined by `&&`, `||`, `;`, `|` and
   * line ends. Null when there is more to it, or when that can't be told.
   */
  readonly plain: readonly (readonly string[])[] | null;
  /** Of each command of `plain`, whether its output goes into the next one. */
  readonly piped?: readonly boolean[];
  /**
   * Every command that could be named, however deep and however many: also inside substitutions, subshells, loops and
   * functions, and what wrappers and shells are handed. Rather too many than too few. Words that are only known when they
   * run are given as they are written.
   */
  readonly named: readonly (readonly string[])[];
  /** True when a text that a shell is handed inside is more than plain words, so that it may run what could not be named. */
  readonly uncertain?: true;
  /** Why the text is not plain words. */
  readonly reason?: string;
}

/** Longer texts are not parsed. Linux doesn't run a command of over 128 KB. */
const longestParsed = 64 * 1024;
const longestNamed = 1024 * 1024;
/** Texts inside texts (`bash -c`, `eval`) that are looked through. */
const mostScripts = 256;

/**
 * Says what a bash command consists of. Rejects never; what can't be read is not plain, and its words are named as they
 * stand.
 *
 * @example
 * ```ts
 * import { analyseCommand } from '@treadle/tools';
 *
 * console.log(await analyseCommand('cd src && grep -n "main" *.ts')); // { plain: null, … }
 * console.log((await analyseCommand('git log -3 | head')).plain); // [ [ 'git', 'log', '-3' ], [ 'head' ] ]
 * console.log((await analyseCommand('sudo sh -c "rm -rf x"')).named.at(-1)); // [ 'rm', '-rf', 'x' ]
 * ```
 */
export async function analyseCommand(text: string): Promise<CommandAnalysis> {
  if (text.length > longestParsed) return unreadable(text, `it has over ${longestParsed} characters`);
  try {
    const outer = await look(text);
    if (outer === undefined) return unreadable(text, 'it takes too long to parse');
    const { plain, named, scripts, complete } = outer;
    const inner = await lookInto(scripts);
    const commands = [...named, ...inner.named];
    if (text.includes('\\\n')) commands.push(...((await look(text.replaceAll('\\\n', '')))?.named ?? []));
    if (!complete || !inner.complete) {
      return {
        plain: null,
        named: [...commands, ...namedRoughly(text)],
        reason: 'it may hold commands that can not be named',
      };
    }
    if (plain.commands === null) return { plain: null, named: commands, reason: plain.reason };
    return { plain: plain.commands, piped: plain.piped, named: commands, ...(!inner.plain && { uncertain: true }) };
  } catch (error) {
    return unreadable(text, `it could not be parsed (${errorText(error)})`);
  }
}

function unreadable(text: string, reason: string): CommandAnalysis {
  return { plain: null, named: namedRoughly(text.slice(0, longestNamed)), reason };
}

interface Look {
  readonly plain: Plain;
  readonly named: readonly (readonly string[])[];
  readonly scripts: readonly string[];
  readonly complete: boolean;
}

async function look(text: string): Promise<Look | undefined> {
  const tree = await parseBash(text);
  if (tree === undefined) return undefined;
  try {
    const { commands, scripts, complete } = namedIn(tree.rootNode);
    const named = tree.rootNode.hasError ? [...commands, ...namedRoughly(text)] : commands;
    return { plain: plainOf(tree.rootNode, text), named, scripts, complete };
  } finally {
    tree.delete();
  }
}

/** The commands in texts that shells are handed, and in the texts that those hand on. */
async function lookInto(
  texts: readonly string[],
): Promise<{ named: readonly (readonly string[])[]; complete: boolean; plain: boolean }> {
  const named: (readonly string[])[] = [];
  const seen = new Set<string>();
  const pending = [...texts];
  let complete = true;
  let plain = true;
  for (let text = pending.shift(); text !== undefined; text = pending.shift()) {
    if (seen.has(text)) continue;
    seen.add(text);
    const inner = seen.size > mostScripts ? undefined : await look(text);
    if (inner === undefined) {
      named.push(...namedRoughly(text));
      complete = false;
      continue;
    }
    named.push(...inner.named);
    pending.push(...inner.scripts);
    complete &&= inner.complete;
    plain &&= inner.plain.commands !== null;
  }
  return { named, complete, plain };
}
