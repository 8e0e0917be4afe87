import { TreadleError } from '../../../errors.ts';
import type { RuleSource } from '../../../events/permission-updates.ts';
import { toolsMeant } from '../../../names/tool-names.ts';
import type { PermissionRule, Specifier, ToolPattern } from '../../../tools/permission-rule.ts';
import { splitWords } from './words.ts';

/**
 * A rule with examples, which are checked when it is loaded: a rule that doesn't mean what its author thought is refused.
 *
 * An example is what the rule's parentheses are about: a command (`git status -s`), a path (`src/a.ts`), a host, or for a
 * rule without parentheses the name of a tool.
 */
export interface RuleWithExamples {
  readonly rule: string;
  /** What it is about. */
  readonly match?: readonly string[];
  /** What it is not about. */
  readonly noMatch?: readonly string[];
}

/** A rule as it is written: `bash`, `bash(git status:*)`, `read_file(src/**)`, `fetch(domain:example.com)`, `mcp__github__*`. */
export type RuleInput = string | RuleWithExamples;

const FORM = 'Write tool, tool(command words:*), tool(exact command), tool(path/**) or tool(domain:example.com).';

/** The error of a rule that can't be used. */
export function refusedRule(text: unknown, problem: string): TreadleError {
  return new TreadleError(
    'invalid_definition',
    `The permission rule ${JSON.stringify(text)} can't be used: ${problem}`,
    {
      details: { rule: text },
    },
  );
}

const TOOL = /^[A-Za-z0-9_-]{1,128}$/;

/** Longer rules are no rules that a person wrote. */
const MAX_LENGTH = 4096;

/**
 * Reads the text of a rule.
 *
 * @param tools names of tools there are: one that is called as Claude Code calls another is meant itself
 * @throws TreadleError `invalid_definition` for a text that is no rule.
 */
export function readRule(written: unknown, source: RuleSource, tools: ReadonlySet<string> = new Set()): PermissionRule {
  if (typeof written !== 'string') throw refusedRule(written, `a rule is a text. ${FORM}`);
  const text = written.trim();
  if (text.length > MAX_LENGTH)
    throw refusedRule(`${text.slice(0, 40)}…`, `it is longer than ${MAX_LENGTH} characters.`);
  const open = text.indexOf('(');
  if (open === -1) return { text, tool: toolPattern(text, text, tools), specifier: null, source };
  if (!text.endsWith(')')) throw refusedRule(text, `the parenthesis is not closed. ${FORM}`);
  const tool = toolPattern(text.slice(0, open), text, tools);
  const inside = text.slice(open + 1, -1).trim();
  if (inside === '') {
    throw refusedRule(text, `the parentheses are empty. Leave them out for every call of ${tool.text}.`);
  }
  if (tool.kind === 'prefix') {
    throw refusedRule(text, "a rule for many tools has no parentheses, for they don't take the same arguments.");
  }
  return { text, tool, specifier: specifierOf(inside, text), source };
}

function toolPattern(name: string, text: string, tools: ReadonlySet<string>): ToolPattern {
  if (name === '*') return { kind: 'prefix', text: '', means: [] };
  const isServer = /^mcp__[A-Za-z0-9_-]+$/.test(name) && !name.slice('mcp__'.length).includes('__');
  if (isServer) return { kind: 'prefix', text: `${name}__`, means: [] };
  const stem = name.endsWith('*') ? name.slice(0, -1) : name;
  if (!TOOL.test(stem)) {
    throw refusedRule(text, `${JSON.stringify(name)} is no name of a tool, with at most a * at its end. ${FORM}`);
  }
  if (stem !== name) return { kind: 'prefix', text: stem, means: [] };
  return { kind: 'name', text: name, means: tools.has(name) ? [] : toolsMeant(name) };
}

function specifierOf(inside: string, text: string): Specifier {
  if (inside.startsWith('domain:')) return { kind: 'domain', host: hostPattern(inside.slice('domain:'.length), text) };
  if (inside.endsWith(':*')) {
    const split = splitWords(inside.slice(0, -2));
    if (!split.ok) throw refusedRule(text, `${split.problem}.`);
    if (split.words.length === 0)
      throw refusedRule(text, 'no word stands before ":*". Leave the parentheses out for every call.');
    return { kind: 'words', words: split.words, prefix: true };
  }
  if (inside.split('/').includes('..'))
    throw refusedRule(text, 'a path of a rule has no "..". Write the folder itself.');
  if (inside.startsWith('~'))
    throw refusedRule(text, '"~" is not expanded here. Write the whole path of the home folder.');
  const split = splitWords(inside);
  return { kind: 'text', text: inside, words: split.ok ? split.words : null };
}

function hostPattern(host: string, text: string): string {
  const normal = normalHost(host);
  const bare = normal.startsWith('*.') ? normal.slice(2) : normal;
  if (!/^[a-z0-9.:[\]-]+$/.test(bare)) {
    throw refusedRule(
      text,
      'after "domain:" stands a host, such as example.com or *.example.com, without https:// or a path.',
    );
  }
  return normal;
}

/** A host as it is compared: in lower case, without a dot at its end. */
export const normalHost = (host: string): string => host.trim().toLowerCase().replace(/\.$/, '');
