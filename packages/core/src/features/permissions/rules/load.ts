import { toolNameProblem } from '../../../names/tool-names.ts';
import type { ToolAccess } from '../../../tools/access.ts';
import { allowing, restrains, type Subject } from './match.ts';
import { readRule, refusedRule, type RuleInput } from './rule.ts';
import type { PermissionRule } from '../../../tools/permission-rule.ts';
import type { RuleSource, RuleBehavior } from '../../../events/permission-updates.ts';
import { splitWords } from './words.ts';

/**
 * Reads a rule and tries its examples.
 *
 * @param tools names of the tools there are, besides the built-in ones. Absent: what tools a rule names isn't checked.
 * @throws TreadleError `invalid_definition` for a text that is no rule, for a rule about a tool that there isn't, and for an
 * example that turns out otherwise.
 */
export function loadRule(
  input: RuleInput,
  behavior: RuleBehavior,
  source: RuleSource,
  tools?: Iterable<string>,
): PermissionRule {
  // Rules come from files too.
  const {
    rule: text,
    match,
    noMatch,
  }: { rule?: unknown; match?: unknown; noMatch?: unknown } = typeof input === 'string'
    ? { rule: input }
    : (input ?? {});
  const names = tools && new Set(tools);
  const rule = readRule(text, source, names);
  const problem = names ? toolNameProblem(rule.tool, names) : null;
  if (problem !== null) throw refusedRule(rule.text, problem);
  for (const example of examplesOf(rule, match, 'match')) {
    if (!isAbout(rule, behavior, example))
      throw refusedRule(rule.text, `its example ${JSON.stringify(example)} is not matched.`);
  }
  for (const example of examplesOf(rule, noMatch, 'noMatch')) {
    if (isAbout(rule, behavior, example)) {
      throw refusedRule(rule.text, `its example ${JSON.stringify(example)} is matched, and should not be.`);
    }
  }
  return rule;
}

function examplesOf({ text }: PermissionRule, examples: unknown, field: string): readonly string[] {
  if (examples === undefined) return [];
  if (Array.isArray(examples) && examples.every((example) => typeof example === 'string')) return examples;
  throw refusedRule(text, `${field} is a list of texts.`);
}

/** An example of a text in parentheses may be meant as a command or as a path: one of both is enough. */
function isAbout(rule: PermissionRule, behavior: RuleBehavior, example: string): boolean {
  const subjects = subjectsOf(rule, example);
  if (behavior === 'allow') return subjects.some((subject) => allowing([rule], subject) !== null);
  return subjects.some((subject) => restrains(rule, subject) === 'yes');
}

function subjectsOf({ tool, specifier }: PermissionRule, example: string): Subject[] {
  const of = (access: ToolAccess): Subject => ({ toolName: tool.text, access });
  if (specifier === null) return [{ toolName: example, access: null }];
  if (specifier.kind === 'domain') return [of({ hosts: [example] })];
  const split = splitWords(example);
  const words = split.ok ? split.words : [example];
  const command = of({ commands: { text: example, plain: [{ words }], named: [words] } });
  if (specifier.kind === 'words') return [command];
  const path = example.startsWith('/') ? example : `/folder/${example}`;
  return [command, of({ folder: '/folder', paths: [{ path, write: true }] })];
}
