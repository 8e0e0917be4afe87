import { parseArgs } from 'node:util';

import { suggestion, UsageError } from './usage-error.ts';

/** One flag of a command. Without `value` it is a switch. */
export interface OptionSpec {
  readonly short?: string;
  /** What the value is called in the help, such as `FOLDER`. */
  readonly value?: string;
  /** The value may be left out. */
  readonly isOptional?: boolean;
  /** The flag may be given several times. */
  readonly repeatable?: boolean;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** The arguments of one command, read. */
export interface ParsedOptions<Name extends string> {
  /** The value of a flag, the last one when it was given twice. */
  text(name: Name): string | undefined;
  flag(name: Name): boolean;
  /** The parts of a list: the flag may be repeated, and each value may have commas. Undefined when not given. */
  list(name: Name): readonly string[] | undefined;
  /** Every value of a flag, as it was given. */
  raw(name: Name): readonly string[];
  /** As `list`, but a comma inside parentheses belongs to its part. */
  rules(name: Name): readonly string[] | undefined;
  /** @throws UsageError unless it is a whole number of at least 1. */
  count(name: Name): number | undefined;
  /** @throws UsageError unless it is a number above 0, such as `0.50` or `$2`. */
  amount(name: Name): number | undefined;
  /** @throws UsageError unless it is one of the words. */
  choice<Word extends string>(name: Name, words: readonly Word[]): Word | undefined;
  readonly positionals: readonly string[];
  /** The positionals and the values of a flag, in the order they were given. */
  inOrder(name: Name): readonly string[];
}

/** @throws UsageError for a flag that the table doesn't have, with the closest one, and for values missing or too many. */
export function parseOptions<Table extends OptionTable>(
  args: readonly string[],
  table: Table,
): ParsedOptions<Extract<keyof Table, string>> {
  const specs: OptionTable = table;
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { short, value }]) => {
      const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
      return [name, { type, multiple: true, ...(short === undefined ? {} : { short }) }];
    }),
  );
  const { tokens } = parseArgs({
    args: withEmptyValues(args, specs),
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Map<string, (string | undefined)[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    checkOption(token, specs);
    const values = given.get(token.name) ?? [];
    values.push(token.value);
    given.set(token.name, values);
  }

  const parts = (name: string, split: (value: string) => string[]): readonly string[] | undefined =>
    given
      .get(name)
      ?.flatMap((value = '') => split(value))
      .map((part) => part.trim())
      .filter((part) => part !== '');
  const text = (name: string): string | undefined => {
    const value = given.get(name)?.at(-1);
    return value === '' && specs[name]?.isOptional === true ? undefined : value;
  };
  return {
    text,
    flag: (name) => given.has(name),
    raw: (name) => given.get(name)?.map((value = '') => value) ?? [],
    list: (name) => parts(name, (value) => value.split(',')),
    rules: (name) => parts(name, splitRules),
    count(name) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!/^[1-9]\d{0,8}$/.test(value)) {
        throw new UsageError(`--${name} takes a whole number of at least 1, and not '${value}'.`);
      }
      return Number(value);
    },
    amount(name) {
      const value = text(name);
      if (value === undefined) return undefined;
      const number = /^\$?\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Number(value.replace('$', '')) : 0;
      if (number > 0) return number;
      throw new UsageError(`--${name} takes a number above 0, such as 2 or 0.50, and not '${value}'.`);
    },
    choice(name, words) {
      const given = text(name);
      const word = words.find((known) => known === given);
      if (given === undefined || word !== undefined) return word;
      throw new UsageError(
        `--${name} doesn't know '${given}'.${suggestion(given, words)} It takes: ${words.join(', ')}.`,
      );
    },
    positionals,
    inOrder: (name) =>
      tokens.flatMap((token) => {
        if (token.kind === 'positional') return [token.value];
        return token.kind === 'option' && token.name === name && token.value !== undefined ? [token.value] : [];
      }),
  };
}

/** A flag whose value may be left out has an empty one before another flag, and at the end. */
function withEmptyValues(args: readonly string[], specs: OptionTable): string[] {
  const optional = Object.entries(specs).filter(([, { isOptional }]) => isOptional === true);
  const end = args.indexOf('--');
  return args.map((arg, index) => {
    if (end !== -1 && index >= end) return arg;
    const next = args[index + 1];
    const found = optional.find(
      ([name, { short }]) => arg === `--${name}` || (short !== undefined && arg === `-${short}`),
    );
    return found && (next === undefined || next.startsWith('-')) ? `--${found[0]}=` : arg;
  });
}

function splitRules(value: string): string[] {
  const rules = [''];
  let depth = 0;
  for (const character of value) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth <= 0) rules.push('');
    else rules[rules.length - 1] += character;
  }
  return rules;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function checkOption({ name, rawName, value, inlineValue }: OptionToken, table: OptionTable): void {
  const spec = Object.hasOwn(table, name) ? table[name] : undefined;
  if (spec === undefined) {
    const hint = rawName.startsWith('--') ? suggestion(name, Object.keys(table), '--') : '';
    const isRun = hint === '' && Object.hasOwn(table, 'prompt');
    throw new UsageError(
      `Unknown option '${rawName}'.${hint}${isRun ? ' A prompt that begins with a dash goes after --.' : ''}`,
    );
  }
  if (spec.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value.`);
    return;
  }
  if (value === undefined) throw new UsageError(`${rawName} needs a value: ${rawName} ${spec.value}.`);
  // `--model --cwd x` forgot the model; a value that begins with a dash is written `--model=-x`.
  if (inlineValue !== true && value.length > 1 && value.startsWith('-')) {
    throw new UsageError(
      `${rawName} needs a value: ${rawName} ${spec.value}. For a value that begins with '-', write --${name}=${value}`,
    );
  }
}
