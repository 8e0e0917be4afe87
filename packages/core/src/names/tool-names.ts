import { didYouMean } from './closest.ts';

/**
 * What Claude Code calls its tools, and the built-in tools that these names mean here: first the tool itself, then those
 * that a rule which denies or asks is about too. There, too, a rule about `Read` or `Edit` is about every tool that reads
 * or edits files.
 */
const MEANT: Readonly<Record<string, readonly [string, ...string[]]>> = {
  Agent: ['agent'],
  AskUserQuestion: ['ask_user'],
  Bash: ['bash'],
  BashOutput: ['task_output'],
  Edit: ['edit_file', 'write_file'],
  Glob: ['list_files'],
  Grep: ['search'],
  KillBash: ['task_stop'],
  KillShell: ['task_stop'],
  LS: ['list_files'],
  MultiEdit: ['edit_file'],
  Read: ['read_file', 'search', 'list_files'],
  Task: ['agent'],
  TaskOutput: ['task_output'],
  TaskStop: ['task_stop'],
  TodoWrite: ['todo'],
  WebFetch: ['web_fetch'],
  Write: ['write_file'],
};

/** The built-in tools that a name of Claude Code's means; none for every other name. */
export const toolsMeant = (name: string): readonly string[] => (Object.hasOwn(MEANT, name) ? (MEANT[name] ?? []) : []);

/**
 * Our name of a built-in tool that Claude Code calls otherwise; every other name as it is.
 *
 * @example
 * ```ts
 * import { builtInToolName } from '@treadle/core/names';
 *
 * console.log(builtInToolName('Read'), builtInToolName('order')); // read_file order
 * ```
 */
export const builtInToolName = (name: string): string => toolsMeant(name)[0] ?? name;

/** What Claude Code calls a built-in tool. */
export const otherNamesOf = (toolName: string): readonly string[] => OTHERS.get(toolName) ?? [];

const OTHERS: ReadonlyMap<string, readonly string[]> = Map.groupBy(Object.keys(MEANT), builtInToolName);

/** Tools of servers and clients have such names. They may come at any time. */
const COMES_LATER = 'mcp__';

/** All names that are known where these tools are. */
const allNames = (tools: Iterable<string>): ReadonlySet<string> =>
  new Set([...tools, ...Object.keys(MEANT), ...Object.values(MEANT).flat()]);

/**
 * What is wrong with a name of a tool, or with the beginning of one; null when a tool has it or may have it one day.
 *
 * @param tools names of the tools there are, besides the built-in ones
 */
export function toolNameProblem(
  { kind, text }: { readonly kind: 'name' | 'prefix'; readonly text: string },
  tools: Iterable<string>,
): string | null {
  if (text.startsWith(COMES_LATER)) return null;
  const names = allNames(tools);
  if (kind === 'name') return names.has(text) ? null : `there is no tool ${text}.${didYouMean(text, names)}`;
  if (COMES_LATER.startsWith(text) || [...names].some((name) => name.startsWith(text))) return null;
  return `no tool has a name that begins with ${text}.${didYouMean(text, names)}`;
}

/**
 * What is wrong with a matcher of tools, a regular expression that a whole name must match; null when it matches a tool's
 * name, or may match one that comes later. Of plain names with `|` between them each must be one.
 */
export function toolMatcherProblem(matcher: string, tools: Iterable<string>): string | null {
  return matcherProblem(matcher, allNames(tools), COMES_LATER);
}

/** The same for names of which there are no more than these. */
export function matcherProblem(matcher: string, names: Iterable<string>, comesLater?: string): string | null {
  const all = [...names];
  const parts = /^[\w|-]+$/.test(matcher) ? matcher.split('|').filter((part) => part !== '') : [matcher];
  for (const part of parts) {
    if (comesLater !== undefined && part.includes(comesLater)) continue;
    const expression = new RegExp(`^(?:${part})$`, 'u');
    if (all.some((name) => expression.test(name))) continue;
    return `${JSON.stringify(part)} matches nothing there is.${didYouMean(part, all)}`;
  }
  return null;
}
