import { TreadleError } from '@treadle/core';

/** What the words of a command that are not flags stand for. */
export type Operands =
  /** None are allowed. */
  | 'none'
  /** Files and folders. */
  | 'paths'
  /** At most one file or folder: what a second one means is not harmless. */
  | 'one path'
  /** Nothing that is looked up: text to print, names of programs. */
  | 'text'
  /** Nothing that is looked up, and nothing is a flag that changes that. */
  | 'anything'
  /** A pattern unless a flag gave one, then files and folders. */
  | 'pattern, paths'
  /** A text, then files and folders. */
  | 'text, paths'
  /** A text, then nothing that is looked up. */
  | 'text, anything'
  /** Names of programs, each of which is looked up on `PATH`. */
  | 'programs';

/** What may stand after a flag, or after `=`. */
export type FlagValue = 'text' | 'path' | 'pattern' | RegExp;

/**
 * A command that changes nothing, with the flags that keep it so. Whatever is not listed makes the command one that has to
 * be asked for: a list of what is harmful would be out of date with the next version of the program.
 */
export interface CommandRule {
  /** The program's name and, for `git`, the word after it. */
  readonly command: string;
  /** Flags without a value, with their dashes. Short ones may be joined: `-l`, `-a` allow `-la`. */
  readonly flags?: readonly string[];
  /** Flags with which no pattern is given, and all operands are paths. */
  readonly patternless?: readonly string[];
  /** Flags with a value: `-n 3`, `-n3`, `--lines 3`, `--lines=3`. */
  readonly values?: Readonly<Record<string, FlagValue>>;
  /** Long flags whose value, if any, follows `=`. */
  readonly optional?: Readonly<Record<string, RegExp>>;
  /** True for programs whose flags are words with one dash, such as `find -name`. */
  readonly wordFlags?: boolean;
  /** True when `-3` stands for a number. */
  readonly numbers?: boolean;
  /** Default `paths`: each of them is checked. */
  readonly operands?: Operands;
  /** What each operand that is text must look like. */
  readonly text?: RegExp;
  /** Operands without which the command does something else. */
  readonly atLeast?: number;
  /** A flag without which the command does something else. */
  readonly needs?: readonly string[];
  /** True when the command is part of the shell: no file of its name is run. */
  readonly builtIn?: boolean;
  /** True when each operand must be a file: given folders, the program follows links in them. */
  readonly filesOnly?: boolean;
  /** True when the command, as long as it names no path, touches nothing but its input and output. */
  readonly filter?: boolean;
  /** Commands that the rule allows, and commands that it doesn't; checked when rules are loaded. */
  readonly match: readonly string[];
  readonly noMatch: readonly string[];
}

/** Flags, as they are typed. */
export const flags = (text: string): string[] => text.split(' ');

/** Flags after which such a value may stand. */
export const taking = <Value extends FlagValue>(value: Value, text: string): Readonly<Record<string, Value>> =>
  Object.fromEntries(flags(text).map((flag) => [flag, value]));

/** What a rule found in a command that it allows. */
export interface RuleMatch {
  readonly rule: CommandRule;
  /** The words that name files and folders. */
  readonly paths: readonly string[];
  /** Programs that it looks up on `PATH`. */
  readonly programs: readonly string[];
}

export type RuleSet = ReadonlyMap<string, CommandRule>;

/**
 * Checks rules by their examples, and sorts them by their command.
 *
 * @throws TreadleError `invalid_definition` when an example says otherwise than the rule.
 */
export function loadRules(rules: readonly CommandRule[]): RuleSet {
  const set = new Map(rules.map((rule) => [rule.command, rule]));
  const check = (rule: CommandRule, example: string, expected: boolean): void => {
    const found = matchRule(set, example.split(' '));
    if ((found?.rule === rule) === expected) return;
    const problem = expected ? 'does not allow' : 'allows';
    throw new TreadleError('invalid_definition', `The rule for ${rule.command} ${problem} its example: ${example}`);
  };
  for (const rule of rules) {
    for (const example of rule.match) check(rule, example, true);
    for (const example of rule.noMatch) check(rule, example, false);
  }
  return set;
}

/** Global flags of git that change nothing about what a command does. */
const gitGlobals = new Set(['--no-pager', '-P', '--no-optional-locks']);

/** The rule that allows a command, with the paths in it; undefined when none does. */
export function matchRule(rules: RuleSet, words: readonly string[]): RuleMatch | undefined {
  const [program = '', ...rest] = words;
  let args = rest;
  let name = program;
  if (program === 'git') {
    while (gitGlobals.has(args[0] ?? '')) args = args.slice(1);
    name = `git ${args[0] ?? ''}`;
    args = args.slice(1);
  }
  const rule = rules.get(name);
  const reading = rule === undefined ? undefined : read(rule, args);
  return rule === undefined || reading === undefined ? undefined : { rule, ...reading };
}

interface Reading {
  readonly paths: string[];
  readonly programs: string[];
  readonly operands: string[];
  readonly seen: Set<string>;
  pattern: boolean;
}

/** The paths and programs among the arguments; undefined when the rule doesn't allow them. */
function read(rule: CommandRule, args: readonly string[]): Pick<RuleMatch, 'paths' | 'programs'> | undefined {
  const reading: Reading = { paths: [], programs: [], operands: [], seen: new Set(), pattern: false };
  if (rule.operands === 'anything') return reading;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    // Programs whose flags are words go on reading flags after it.
    if (arg === '--' && rule.wordFlags === true) return undefined;
    if (arg === '--' && rule.operands !== 'text') {
      reading.operands.push(...args.slice(index + 1));
      break;
    }
    if (!arg.startsWith('-') || arg === '-') {
      reading.operands.push(arg);
      continue;
    }
    const used = readFlag(rule, arg, args[index + 1], reading);
    if (used === undefined) return undefined;
    index += used;
  }
  if (rule.needs?.some((flag) => reading.seen.has(flag)) === false) return undefined;
  if (rule.patternless?.some((flag) => reading.seen.has(flag)) === true) reading.pattern = true;
  return readOperands(rule, reading) ? reading : undefined;
}

/** How many further words the flag takes; undefined when it is not allowed. */
function readFlag(rule: CommandRule, arg: string, next: string | undefined, reading: Reading): number | undefined {
  if (rule.numbers === true && /^-\d+$/.test(arg)) return 0;
  const isWhole = rule.wordFlags === true || arg.startsWith('--');
  return isWhole ? readLong(rule, arg, next, reading) : readShort(rule, arg, next, reading);
}

function readLong(rule: CommandRule, arg: string, next: string | undefined, reading: Reading): number | undefined {
  const equals = rule.wordFlags === true ? -1 : arg.indexOf('=');
  const name = equals < 0 ? arg : arg.slice(0, equals);
  const value = equals < 0 ? undefined : arg.slice(equals + 1);
  reading.seen.add(name);
  const optional = own(rule.optional, name);
  if (optional !== undefined) return value === undefined || optional.test(value) ? 0 : undefined;
  if (value === undefined && rule.flags?.includes(name) === true) return 0;
  const kind = own(rule.values, name);
  if (kind === undefined) return undefined;
  return takeValue(kind, value ?? next, reading) ? Number(value === undefined) : undefined;
}

function readShort(rule: CommandRule, arg: string, next: string | undefined, reading: Reading): number | undefined {
  for (let at = 1; at < arg.length; at += 1) {
    const flag = `-${arg[at] ?? ''}`;
    reading.seen.add(flag);
    if (rule.flags?.includes(flag) === true) continue;
    const kind = own(rule.values, flag);
    if (kind === undefined) return undefined;
    const attached = arg.slice(at + 1);
    return takeValue(kind, attached === '' ? next : attached, reading) ? Number(attached === '') : undefined;
  }
  return 0;
}

const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

function takeValue(kind: FlagValue, value: string | undefined, reading: Reading): boolean {
  if (value === undefined) return false;
  if (kind === 'path') reading.paths.push(value);
  if (kind === 'pattern') reading.pattern = true;
  return kind instanceof RegExp ? kind.test(value) : true;
}

function readOperands(rule: CommandRule, { operands, paths, programs, pattern }: Reading): boolean {
  if (operands.length < (rule.atLeast ?? 0)) return false;
  const fits = (text: readonly string[]): boolean => text.every((one) => rule.text?.test(one) ?? true);
  switch (rule.operands ?? 'paths') {
    case 'none':
    case 'anything':
      return operands.length === 0;
    case 'text':
      return fits(operands);
    case 'one path':
      paths.push(...operands);
      return operands.length <= 1;
    case 'paths':
      paths.push(...operands);
      return true;
    case 'pattern, paths':
      paths.push(...operands.slice(pattern ? 0 : 1));
      return true;
    case 'text, paths':
      paths.push(...operands.slice(1));
      return fits(operands.slice(0, 1));
    case 'text, anything':
      return fits(operands.slice(0, 1));
    case 'programs':
      programs.push(...operands);
      return operands.every((one) => !one.includes('/'));
  }
}
