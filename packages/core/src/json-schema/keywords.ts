import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';
import type { PatternMatcher } from '../ports/validator.ts';
import { type Check, checkAt, fail, failuresOf, fits, isDecided, stop } from './run.ts';
import { canonical, codePoints, describe, equals, has, kindOf, listOf } from './values.ts';

/** What a keyword is compiled with: the schema it stands in, and the way to its subschemas. */
export interface KeywordContext {
  readonly schema: JsonObject;
  /** Compiles the subschema under these keys. */
  readonly child: (value: JsonValue, ...keys: string[]) => Check;
  /** Notes that a keyword can't be used, and gives a check that decides nothing and so never passes. */
  readonly broken: (reason: string, ...keys: string[]) => Check;
  /** Makes a test of a pattern, or null when it is to be skipped. */
  readonly matcher: PatternMatcher;
}

/** The checks of one schema, by the kind of value they apply to. */
export interface CheckLists {
  readonly any: Check[];
  readonly object: Check[];
  readonly array: Check[];
  readonly string: Check[];
  readonly number: Check[];
}

/** A keyword's value if the schema has it. */
function own(context: KeywordContext, key: string): JsonValue | undefined {
  return has(context.schema, key) ? context.schema[key] : undefined;
}

/** A keyword that holds a number, or undefined. What isn't a number goes to `checks` as a broken keyword. */
function bound(context: KeywordContext, key: string, checks: Check[]): number | undefined {
  const value = own(context, key);
  if (value === undefined || typeof value === 'number') return value;
  checks.push(context.broken('must be a number', key));
  return undefined;
}

/** The two keywords that bound the size of a value. */
function compileSize(
  context: KeywordContext,
  checks: Check[],
  {
    least,
    most,
    unit,
    sizeOf,
  }: Readonly<Record<'least' | 'most' | 'unit', string>> & {
    readonly sizeOf: (value: unknown) => number;
  },
): void {
  const limit = (key: string, words: string, holds: (size: number, bound: number) => boolean): void => {
    const value = bound(context, key, checks);
    if (value === undefined) return;
    checks.push((checked, run) => {
      const size = sizeOf(checked);
      if (!holds(size, value)) fail(run, () => `must have at ${words} ${value} ${unit}, got ${size}`);
    });
  };
  limit(least, 'least', (size, from) => size >= from);
  limit(most, 'most', (size, to) => size <= to);
}

/** `const` and `enum`. */
export function compileChoices(context: KeywordContext, lists: CheckLists): void {
  const constant = own(context, 'const');
  if (constant !== undefined) {
    if (canonical(constant) === undefined) lists.any.push(context.broken('is nested too deep', 'const'));
    else
      lists.any.push((value, run) => {
        if (!equals(constant, value)) fail(run, () => `must be ${listOf([constant])}, got ${describe(value)}`);
      });
  }
  const choices = own(context, 'enum');
  if (choices === undefined) return;
  if (!Array.isArray(choices) || canonical(choices) === undefined) {
    lists.any.push(context.broken('must be a list of values', 'enum'));
    return;
  }
  lists.any.push((value, run) => {
    if (choices.some((choice) => equals(choice, value))) return;
    fail(run, () => `must be one of ${listOf(choices)}, got ${describe(value)}`);
  });
}

/** `minLength`, `maxLength` and `pattern`. */
export function compileString(context: KeywordContext, { string: checks }: CheckLists): void {
  const sizeOf = (value: unknown): number => codePoints(value as string);
  compileSize(context, checks, { least: 'minLength', most: 'maxLength', unit: 'characters', sizeOf });
  const pattern = own(context, 'pattern');
  if (pattern === undefined) return;
  if (typeof pattern !== 'string') {
    checks.push(context.broken('must be a string', 'pattern'));
    return;
  }
  if (!isExpression(pattern)) {
    checks.push(context.broken('is not a valid regular expression', 'pattern'));
    return;
  }
  const matches = context.matcher(pattern);
  checks.push((value, run) => {
    if (matches === null) run.unsure = true;
    else if (!matches(value as string)) fail(run, () => `must match the pattern ${pattern}, got ${describe(value)}`);
  });
}

/** True for a regular expression of JavaScript. The old grammar allows escapes such as `\-`. */
const isExpression = (source: string): boolean =>
  ['u', ''].some((flags) => {
    try {
      return new RegExp(source, flags) instanceof RegExp;
    } catch {
      return false;
    }
  });

/** The bounds of a number and `multipleOf`. The boolean `exclusive…` of older drafts makes its bound strict. */
export function compileNumber(context: KeywordContext, { number: checks }: CheckLists): void {
  const strictBelow = own(context, 'exclusiveMinimum') === true;
  const strictAbove = own(context, 'exclusiveMaximum') === true;
  const least = bound(context, 'minimum', checks);
  const most = bound(context, 'maximum', checks);
  const above =
    typeof own(context, 'exclusiveMinimum') === 'boolean' ? undefined : bound(context, 'exclusiveMinimum', checks);
  const below =
    typeof own(context, 'exclusiveMaximum') === 'boolean' ? undefined : bound(context, 'exclusiveMaximum', checks);
  const rule = (holds: (value: number) => boolean, words: string): void => {
    checks.push((value, run) => {
      if (!holds(value as number)) fail(run, () => `must be ${words}, got ${String(value)}`);
    });
  };
  if (least !== undefined && !strictBelow) rule((value) => value >= least, `at least ${least}`);
  if (most !== undefined && !strictAbove) rule((value) => value <= most, `at most ${most}`);
  const floor = strictBelow ? least : above;
  const ceiling = strictAbove ? most : below;
  if (floor !== undefined) rule((value) => value > floor, `greater than ${floor}`);
  if (ceiling !== undefined) rule((value) => value < ceiling, `less than ${ceiling}`);
  const step = bound(context, 'multipleOf', checks);
  if (step !== undefined && step <= 0) checks.push(context.broken('must be greater than 0', 'multipleOf'));
  else if (step !== undefined) rule((value) => isMultiple(value, step), `a multiple of ${step}`);
}

/** Binary fractions are allowed their rounding error: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, step: number): boolean {
  if (value % step === 0) return true;
  if (Number.isInteger(value) && Number.isInteger(step)) return false;
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * Number.EPSILON * 4;
}

/** `prefixItems`, `items` (also the list of older drafts), `contains`, the counts and `uniqueItems`. */
export function compileArray(context: KeywordContext, { array: checks }: CheckLists): void {
  const sizeOf = (value: unknown): number => (value as readonly unknown[]).length;
  compileSize(context, checks, { least: 'minItems', most: 'maxItems', unit: 'items', sizeOf });
  compileItems(context, checks);
  compileContains(context, checks);
  if (own(context, 'uniqueItems') !== true) return;
  checks.push((value, run) => {
    const seen = new Map<string, number>();
    for (const [index, item] of (value as readonly unknown[]).entries()) {
      const key = canonical(item);
      if (key === undefined) return stop(run, 'has items nested too deep to compare');
      const earlier = seen.get(key);
      if (earlier !== undefined) return fail(run, () => `must not repeat items: ${earlier} and ${index} are equal`);
      seen.set(key, index);
    }
  });
}

function compileItems(context: KeywordContext, checks: Check[]): void {
  const items = own(context, 'items');
  const listKey = Array.isArray(items) ? 'items' : 'prefixItems';
  const restKey = Array.isArray(items) ? 'additionalItems' : 'items';
  const list = own(context, listKey) ?? [];
  if (!Array.isArray(list)) {
    checks.push(context.broken('must be a list of schemas', listKey));
    return;
  }
  const prefix = (list as readonly JsonValue[]).map((item, index) => context.child(item, listKey, String(index)));
  const restSchema = own(context, restKey);
  const rest = restSchema === undefined ? undefined : context.child(restSchema, restKey);
  if (prefix.length === 0 && rest === undefined) return;
  checks.push((value, run) => {
    const array = value as readonly unknown[];
    const end = rest === undefined ? Math.min(prefix.length, array.length) : array.length;
    for (let index = 0; index < end; index += 1) {
      const check = prefix[index] ?? rest;
      if (check !== undefined) checkAt(run, index, check, array[index]);
      if (isDecided(run)) return;
    }
  });
}

function compileContains(context: KeywordContext, checks: Check[]): void {
  const contains = own(context, 'contains');
  if (contains === undefined) return;
  const check = context.child(contains, 'contains');
  const least = bound(context, 'minContains', checks) ?? 1;
  const most = bound(context, 'maxContains', checks) ?? Infinity;
  checks.push((value, run) => {
    let count = 0;
    let unsure = 0;
    for (const item of value as readonly unknown[]) {
      const fit = fits(check, item, run);
      if (fit === 'yes') count += 1;
      if (fit === 'unsure') unsure += 1;
      if (run.stopped !== undefined) return;
      if (count > most || (count >= least && most === Infinity)) break;
    }
    if (unsure > 0 && count <= most && count + unsure >= least) run.unsure = true;
    else if (count < least) fail(run, () => `must contain at least ${least} items of the required form, got ${count}`);
    if (count > most) fail(run, () => `must contain at most ${most} items of the given form`);
  });
}

/** `required`, the counts, `propertyNames` and everything about the properties themselves. */
export function compileObject(context: KeywordContext, { object: checks }: CheckLists): void {
  compileRequired(context, checks);
  compileProperties(context, checks);
  const sizeOf = (value: unknown): number =>
    Object.values(value as JsonObject).filter((property) => property !== undefined).length;
  compileSize(context, checks, { least: 'minProperties', most: 'maxProperties', unit: 'properties', sizeOf });
  const names = own(context, 'propertyNames');
  if (names === undefined) return;
  const check = context.child(names, 'propertyNames');
  checks.push((value, run) => {
    for (const key of Object.keys(value as JsonObject)) {
      if (isDecided(run)) return;
      const fit = fits(check, key, run);
      if (fit === 'unsure') run.unsure = true;
      if (fit !== 'no' || run.stopped !== undefined) continue;
      const reason = run.silent ? undefined : failuresOf(check, key, run)[0]?.message;
      run.path.push(key);
      fail(run, () => `has a name that is not allowed: the name ${reason ?? 'does not fit'}`);
      run.path.pop();
    }
  });
}

function compileRequired(context: KeywordContext, checks: Check[]): void {
  const required = own(context, 'required');
  if (required === undefined) return;
  if (!Array.isArray(required) || !required.every((key) => typeof key === 'string')) {
    checks.push(context.broken('must be a list of property names', 'required'));
    return;
  }
  const keys: readonly string[] = required;
  checks.push((value, run) => {
    for (const key of keys) {
      if (has(value as JsonObject, key)) continue;
      run.path.push(key);
      fail(run, () => 'is required but missing');
      run.path.pop();
    }
  });
}

/** `properties`, `patternProperties` and `additionalProperties`, which depend on each other. */
function compileProperties(context: KeywordContext, checks: Check[]): void {
  const named = schemasUnder(context, 'properties', checks);
  const patterns: { readonly matches: (text: string) => boolean; readonly check: Check }[] = [];
  let skipsPatterns = false;
  for (const [source, check] of schemasUnder(context, 'patternProperties', checks)) {
    if (!isExpression(source)) {
      checks.push(context.broken('is not a valid regular expression', 'patternProperties', source));
      continue;
    }
    const matches = context.matcher(source);
    if (matches === null) skipsPatterns = true;
    else patterns.push({ matches, check });
  }
  const additional = own(context, 'additionalProperties');
  const rest =
    additional === undefined || additional === true ? undefined : context.child(additional, 'additionalProperties');
  const known = new Set(named.map(([key]) => key));
  const refuse = additional === false;

  if (named.length > 0)
    checks.push((value, run) => {
      const object = value as JsonObject;
      for (const [key, check] of named) {
        if (!has(object, key)) continue;
        checkAt(run, key, check, object[key]);
        if (isDecided(run)) return;
      }
    });
  if (patterns.length === 0 && rest === undefined && !skipsPatterns) return;
  checks.push((value, run) => {
    const object = value as JsonObject;
    for (const key of Object.keys(object)) {
      if (object[key] === undefined) continue;
      let matched = known.has(key);
      if (skipsPatterns) run.unsure = true;
      run.path.push(key);
      for (const { matches, check } of patterns) {
        if (!matches(key)) continue;
        matched = true;
        check(object[key], run);
      }
      // A pattern that is skipped may allow the property.
      matched ||= skipsPatterns;
      if (!matched && refuse) fail(run, () => unexpected(known));
      else if (!matched && rest !== undefined) rest(object[key], run);
      run.path.pop();
      if (isDecided(run)) return;
    }
  });
}

const unexpected = (known: ReadonlySet<string>): string =>
  known.size === 0
    ? 'is not an allowed property; none are'
    : `is not an allowed property; the allowed ones are ${listOf([...known])}`;

function schemasUnder(context: KeywordContext, key: string, checks: Check[]): readonly (readonly [string, Check])[] {
  const schemas = own(context, key);
  if (schemas === undefined) return [];
  if (!isJsonObject(schemas)) {
    checks.push(context.broken('must be an object of schemas', key));
    return [];
  }
  return Object.keys(schemas).map((name) => [name, context.child(schemas[name] ?? true, key, name)] as const);
}

const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

/** `type`: a test and its words, or undefined when every type is allowed. */
export function compileType(
  context: KeywordContext,
): { readonly test: (value: unknown) => boolean; readonly words: string } | Check | undefined {
  const type = own(context, 'type');
  if (type === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  const unknown = names.find((name) => !TYPES.has(name));
  if (unknown !== undefined) return context.broken(`names an unknown type: ${describe(unknown)}`, 'type');
  if (names.length === 0) return context.broken('must name at least one type', 'type');
  const isOf = (name: unknown, value: unknown): boolean =>
    name === 'integer' ? Number.isInteger(value) : kindOf(value) === name;
  return { words: names.join(' or '), test: (value) => names.some((name) => isOf(name, value)) };
}
