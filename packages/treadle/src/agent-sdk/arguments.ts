import { closestName } from '@treadle/core/names';

import { UsageError } from '../cli/usage-error.ts';

/** How a flag is written: a switch, one value, a value that may be repeated, or a list with commas. */
type Kind = 'switch' | 'value' | 'values' | 'list';

/** What this program does with a flag. */
export type Support =
  | 'works'
  /** Accepted, and without an effect here, for the reason in the table of `docs/agent-sdk.md`. */
  | 'ignored';

interface Flag {
  readonly kind: Kind;
  readonly support: Support;
}

const works = (kind: Kind): Flag => ({ kind, support: 'works' });
const ignored = (kind: Kind): Flag => ({ kind, support: 'ignored' });

/** Every flag that the clients of the protocol send. */
export const FLAGS = {
  'output-format': works('value'),
  'input-format': works('value'),
  verbose: ignored('switch'),
  print: ignored('switch'),
  model: works('value'),
  'fallback-model': works('value'),
  'max-thinking-tokens': works('value'),
  thinking: works('value'),
  'thinking-display': ignored('value'),
  effort: works('value'),
  'max-turns': works('value'),
  'max-budget-usd': works('value'),
  'task-budget': works('value'),
  agent: works('value'),
  betas: ignored('list'),
  'json-schema': works('value'),
  debug: ignored('switch'),
  'debug-file': ignored('value'),
  'permission-prompt-tool': works('value'),
  'permission-prompts': works('value'),
  continue: works('switch'),
  resume: works('value'),
  'fork-session': works('switch'),
  'resume-session-at': works('value'),
  'resume-drops-turn': works('value'),
  'session-id': works('value'),
  'no-session-persistence': works('switch'),
  allowedTools: works('list'),
  disallowedTools: works('list'),
  tools: works('list'),
  'mcp-config': works('value'),
  'await-initialize': works('switch'),
  'setting-sources': works('list'),
  'strict-mcp-config': works('switch'),
  'permission-mode': works('value'),
  'allow-dangerously-skip-permissions': works('switch'),
  'dangerously-skip-permissions': works('switch'),
  'include-hook-events': works('switch'),
  'include-partial-messages': works('switch'),
  'replay-user-messages': works('switch'),
  'session-mirror': works('switch'),
  'add-dir': works('values'),
  'project-config-root': works('value'),
  'plugin-dir': works('values'),
  'plugin-dir-no-mcp': works('values'),
  settings: works('value'),
  'managed-settings': works('value'),
  'system-prompt': works('value'),
  'system-prompt-file': works('value'),
  'append-system-prompt': works('value'),
  'append-system-prompt-file': works('value'),
  agents: works('value'),
  version: works('switch'),
  help: works('switch'),
} as const satisfies Readonly<Record<string, Flag>>;

export type FlagName = keyof typeof FLAGS;

/** Other spellings of the same. */
const SAME: Readonly<Record<string, FlagName>> = {
  '-v': 'version',
  '-V': 'version',
  '-h': 'help',
  '-p': 'print',
  '-c': 'continue',
  '-r': 'resume',
  '-d': 'debug',
  '--allowed-tools': 'allowedTools',
  '--disallowed-tools': 'disallowedTools',
};

/** The arguments, read. */
export interface Arguments {
  has(name: FlagName): boolean;
  /** The last value. */
  text(name: FlagName): string | undefined;
  values(name: FlagName): readonly string[];
  /** The parts of all values; a comma inside parentheses belongs to its part. Undefined when it was not given. */
  list(name: FlagName): readonly string[] | undefined;
  /** @throws UsageError unless it is a number above 0. */
  amount(name: FlagName): number | undefined;
  /** Flags that nobody here knows. */
  readonly unknown: readonly string[];
}

/**
 * Reads `--flag value` and `--flag=value`, whichever way a flag is written.
 *
 * @throws UsageError for a value that is missing, and for what can't be done here.
 */
export function readArguments(argv: readonly string[]): Arguments {
  const given = new Map<FlagName, string[]>();
  const unknown: string[] = [];
  const pending = argv.toReversed();
  for (let token = pending.pop(); token !== undefined; token = pending.pop()) {
    const { name, inline } = flagOf(token);
    if (name === null) {
      unknown.push(token);
      // Its value, if it has one, is no prompt: there are none.
      if (inline === undefined && isValue(pending.at(-1))) pending.pop();
      continue;
    }
    const { kind }: Flag = FLAGS[name];
    const value = kind === 'switch' ? (inline ?? '') : (inline ?? pending.pop());
    if (value === undefined) throw new UsageError(`--${name} needs a value.`);
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  const values = (name: FlagName): readonly string[] => given.get(name) ?? [];
  const text = (name: FlagName): string | undefined => values(name).at(-1);
  return {
    has: (name) => given.has(name),
    text,
    values,
    list: (name) => given.get(name)?.flatMap(splitList),
    amount(name) {
      const value = text(name);
      if (value === undefined) return undefined;
      const number = Number(value);
      if (value.trim() !== '' && number > 0 && number < Infinity) return number;
      throw new UsageError(`--${name} takes a number above 0, and not '${value}'.`);
    },
    unknown,
  };
}

const isValue = (token: string | undefined): boolean => token !== undefined && !token.startsWith('-');

function flagOf(token: string): { readonly name: FlagName | null; readonly inline: string | undefined } {
  const at = token.startsWith('--') ? token.indexOf('=') : -1;
  const word = at < 0 ? token : token.slice(0, at);
  const inline = at < 0 ? undefined : token.slice(at + 1);
  const name = Object.hasOwn(SAME, word) ? SAME[word] : word.slice(2);
  const isKnown = name !== undefined && (Object.hasOwn(SAME, word) || word.startsWith('--')) && isFlag(name);
  return { name: isKnown ? name : null, inline };
}

const isFlag = (name: string): name is FlagName => Object.hasOwn(FLAGS, name);

/** `Bash(git log, git diff),Read` has two parts. */
function splitList(value: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of value) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth <= 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** What to say of a flag that nobody here knows. */
export function unknownFlag(token: string): string {
  const name = token.replace(/^--?/, '').replace(/=.*$/s, '');
  const best = closestName(name, Object.keys(FLAGS));
  return `The argument ${token.replace(/=.*$/s, '')} is not known, and is passed over.${best === undefined ? '' : ` Is --${best} meant?`}`;
}
