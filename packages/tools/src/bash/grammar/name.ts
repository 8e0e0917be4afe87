import type { Node } from 'web-tree-sitter';
import { literal } from './words.ts';
import { innerCommands, programName, readsCommands } from './wrappers.ts';

/** What was found by looking for commands. */
export interface Named {
  readonly commands: readonly (readonly string[])[];
  /** Texts that a shell is handed inside; they are to be looked through as well. */
  readonly scripts: readonly string[];
  /** False when there may be more. */
  readonly complete: boolean;
}

/**
 * Every command in a parsed text, wherever it stands, and what wrappers run. A word that is only known when it runs is
 * given as it is written.
 */
export function namedIn(root: Node): Named {
  const commands: (readonly string[])[] = [];
  const scripts: string[] = [];
  /** Texts that are commands only when a shell reads them. */
  const texts: string[] = [];
  let complete = true;
  let reads = false;
  const note = (words: readonly string[]): readonly (readonly string[])[] => {
    commands.push(words, ...withoutFolder(words));
    reads ||= readsCommands(words);
    if (/^(?:echo|printf)$/.test(programName(words[0] ?? ''))) texts.push(words.slice(1).join(' '), ...words.slice(1));
    const inner = innerCommands(words);
    scripts.push(...inner.scripts);
    complete &&= inner.complete;
    return inner.commands;
  };
  const add = (words: readonly string[]): void => {
    // What a wrapper inside a wrapper runs is among the tries of the outer one already.
    for (const inner of note(words)) note(inner);
  };
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'command') add(wordsOf(node));
    else if (node.type === 'declaration_command' || node.type === 'unset_command') add(node.text.split(/\s+/));
    else if (node.type === 'heredoc_body') texts.push(node.text);
    else if (node.type === 'herestring_redirect') texts.push(literal(node.namedChild(0) ?? node) ?? node.text);
    for (const child of node.namedChildren.toReversed()) pending.push(child);
  }
  return { commands, scripts: reads ? [...scripts, ...texts] : scripts, complete };
}

/** `/bin/rm x` is `rm x` too. */
function withoutFolder(words: readonly string[]): string[][] {
  const [program = '', ...rest] = words;
  const name = programName(program);
  return name === program ? [] : [[name, ...rest]];
}

function wordsOf(command: Node): string[] {
  const words: string[] = [];
  for (const child of command.namedChildren) {
    if (child.type === 'variable_assignment' || child.type.endsWith('_redirect')) continue;
    words.push(literal(child) ?? child.text);
  }
  return words;
}

/** Words of a text that could not be parsed which are named with each of them. */
const following = 8;

/**
 * Names every word of a text as if it began a command, for a text that is beyond the grammar: what is denied must not be
 * allowed because it was written so that nobody can read it.
 */
export function namedRoughly(text: string): (readonly string[])[] {
  const words = text
    .replaceAll('\\\n', '')
    .replaceAll(/["'\\]/g, '')
    .split(/[\s;&|()<>{}`$]+/)
    .filter((word) => word !== '');
  return words.flatMap((_, index) => {
    const command = words.slice(index, index + following);
    return [command, ...withoutFolder(command)];
  });
}
