import type { Node } from 'web-tree-sitter';
import { plainWords, type PlainText } from './lexer.ts';
import { literal } from './words.ts';

export type Plain = PlainText | { readonly commands: null; readonly reason: string };

/** Why a node keeps a text from being plain words, in words for a person. */
const reasons: Readonly<Record<string, string>> = {
  simple_expansion: 'it expands a variable',
  expansion: 'it expands a variable',
  arithmetic_expansion: 'it calculates',
  command_substitution: 'it substitutes the output of a command',
  process_substitution: 'it substitutes the output of a command',
  ansi_c_string: 'a word is quoted in the way of C',
  translated_string: 'a word is translated',
  brace_expression: 'a word has braces that expand',
  extglob_pattern: 'a word has a pattern of file names',
  variable_assignment: 'it sets a variable',
  variable_assignments: 'it sets variables',
  declaration_command: 'it sets a variable',
  unset_command: 'it removes a variable',
  function_definition: 'it defines a function',
  subshell: 'it has a subshell',
  compound_statement: 'it has a group of commands',
  negated_command: 'it negates an exit code',
  test_command: 'it has a condition in brackets',
  if_statement: 'it has an if',
  for_statement: 'it has a loop',
  c_style_for_statement: 'it has a loop',
  while_statement: 'it has a loop',
  case_statement: 'it has a case',
  heredoc_redirect: 'it has a document in its text',
  herestring_redirect: 'it has a text as its input',
};

const kept = new Set(
  (
    'program list pipeline command command_name word number string string_content raw_string concatenation ' +
    'comment redirected_statement file_redirect file_descriptor'
  ).split(' '),
);

/** Words with which the shell begins something else than a command. */
const reserved = new Set(
  '! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while'.split(' '),
);

/** Whether the parsed text is nothing but plain words joined by `&&`, `||`, `;`, `|` and line ends. */
export function plainOf(root: Node, text: string): Plain {
  const complex = (reason: string): Plain => ({ commands: null, reason });
  if (root.hasError) return complex('it does not parse');
  // oxlint-disable-next-line no-control-regex -- some that bash and its grammar read differently
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) return complex('it contains control characters');
  const commands: string[][] = [];
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.isNamed && !kept.has(node.type)) return complex(reasons[node.type] ?? 'it is more than plain words');
    if (node.type === '&') return complex('it runs a command in the background');
    if (node.type !== 'command') {
      pending.push(...node.children.toReversed());
      continue;
    }
    const words = wordsOf(node);
    if (typeof words === 'string') return complex(words);
    commands.push(words);
  }
  const lexed = plainWords(text);
  if (lexed === undefined) return complex('a word expands, or output goes into a file');
  if (JSON.stringify(lexed.commands) !== JSON.stringify(commands)) return complex('its words can be read in two ways');
  const keyword = commands.find(([program]) => reserved.has(program ?? ''));
  return keyword === undefined ? lexed : complex(`${keyword[0]} begins something else than a command`);
}

/** The words of a command, or the reason that they can't be told. */
function wordsOf(command: Node): string[] | string {
  const words: string[] = [];
  for (const child of command.children) {
    if (child.isNamed && !kept.has(child.type)) return reasons[child.type] ?? 'it is more than plain words';
    const word = literal(child);
    if (word === undefined) return foreignPart(child) ?? 'a word is only known when it runs';
    words.push(word);
  }
  return words;
}

function foreignPart(word: Node): string | undefined {
  const pending = [word];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const reason = reasons[node.type];
    if (reason !== undefined) return reason;
    pending.push(...node.namedChildren);
  }
  return undefined;
}
