import { type JsonSchema, type JsonValue, isJsonObject, MAX_JSON_DEPTH } from '../json.ts';
import type { ArgumentsIssue, PatternMatcher, ValueCheck } from '../ports/validator.ts';
import { compileCombinations } from './combine.ts';
import {
  type CheckLists,
  compileArray,
  compileChoices,
  compileNumber,
  compileObject,
  compileString,
  compileType,
  type KeywordContext,
} from './keywords.ts';
import { applyInside, type Check, fail, isDecided, pointerOf, startRun, stop } from './run.ts';
import { describe, has, type Kind, kindOf } from './values.ts';

/** A schema as {@link compileSchema} compiles it. */
export interface SchemaCheck extends ValueCheck {
  /**
   * What is wrong with the schema itself: pointers into it and reasons. A value that meets such a place fails; it never
   * passes unchecked.
   */
  readonly problems: readonly ArgumentsIssue[];
  readonly unchecked: readonly string[];
}

const NO_ISSUES: readonly ArgumentsIssue[] = Object.freeze([]);

/**
 * Compiles a JSON Schema (draft 2020-12, and the habits of draft 7 and OpenAPI 3.0 where they differ) into a fast check.
 *
 * Checked: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `patternProperties`,
 * `propertyNames`, `minProperties`, `maxProperties`, `items`, `prefixItems`, `minItems`, `maxItems`, `uniqueItems`,
 * `contains`, `minContains`, `maxContains`, `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`,
 * `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`, `anyOf`, `oneOf`, `allOf`, `not`, `if`/`then`/`else`, `$ref` to
 * a JSON pointer in the same document, `nullable`, and boolean schemas. Every other keyword, `format` among them, is
 * ignored. A reference that leads elsewhere is a problem of the schema.
 *
 * `pattern` and `patternProperties` need a `matcher`. A pattern without one is skipped: it neither fails nor passes a value,
 * and `unchecked` lists it. Under `not`, `anyOf`, `oneOf`, `if` and `contains` a skipped pattern never refuses a value.
 *
 * The work is bounded: a check of over 1,024 schemas inside each other, or of over five million steps, fails.
 *
 * @example
 * ```ts
 * import { compileSchema } from '@treadle/core/json';
 *
 * const check = compileSchema({ type: 'object', properties: { path: { type: 'string' } }, required: ['path'] });
 * check({ path: 3 }); // [{ path: '/path', message: 'must be string, got number 3' }]
 * ```
 */
export function compileSchema(schema: JsonSchema | boolean, matcher: PatternMatcher = () => null): SchemaCheck {
  const { root, problems, unchecked } = compileDocument(schema, matcher);
  const check = (value: unknown): readonly ArgumentsIssue[] => {
    const run = startRun();
    root(value, run);
    if (run.stopped !== undefined) return [run.stopped];
    if (run.failures.length === 0) return NO_ISSUES;
    return run.failures.map(({ path, message }) => ({ path, message }));
  };
  return Object.assign(check, { problems, unchecked: [...unchecked] });
}

/**
 * Checks one value against a schema: at most 20 issues, none when it fits. To check many values, compile the schema once.
 */
export function validateJson(schema: JsonSchema | boolean, value: unknown): readonly ArgumentsIssue[] {
  return compileSchema(schema)(value);
}

/** A schema some `$ref` leads to, compiled once. `base` is the document its own references are looked up in. */
interface Target {
  check: Check;
  readonly schema: JsonValue;
  readonly base: JsonValue;
  readonly pointer: string;
}

interface Compiler {
  readonly problems: ArgumentsIssue[];
  readonly unchecked: Set<string>;
  readonly matcher: PatternMatcher;
  readonly targets: Map<JsonValue, Target>;
  /** Targets not compiled yet: a list instead of recursion, so chains of references can't overflow the stack. */
  readonly pending: Target[];
}

function compileDocument(schema: JsonValue, matcher: PatternMatcher): Compiler & { readonly root: Check } {
  const unchecked = new Set<string>();
  const compiler: Compiler = {
    problems: [],
    unchecked,
    matcher: (pattern) => {
      const matches = matcher(pattern);
      if (matches === null) unchecked.add(pattern);
      return matches;
    },
    targets: new Map(),
    pending: [],
  };
  const root = compileNode(compiler, schema, schema, '', 0);
  for (let target = compiler.pending.pop(); target !== undefined; target = compiler.pending.pop()) {
    target.check = compileNode(compiler, target.schema, target.base, target.pointer, 0);
  }
  return { ...compiler, root };
}

const accept: Check = () => {};
const refuse: Check = (value, run) => fail(run, () => `is not allowed here, got ${describe(value)}`);

function compileNode(compiler: Compiler, schema: JsonValue, base: JsonValue, pointer: string, depth: number): Check {
  if (schema === true) return accept;
  if (schema === false) return refuse;
  const problem = (reason: string, ...keys: string[]): Check => {
    compiler.problems.push({ path: pointer + pointerOf(keys), message: reason });
    const message = `can not be checked: the schema is broken at #${pointer + pointerOf(keys)}, which ${reason}`;
    return (_value, run) => stop(run, message);
  };
  if (!isJsonObject(schema)) return problem('must be an object or a boolean');
  if (depth > MAX_JSON_DEPTH) return problem(`is nested deeper than ${MAX_JSON_DEPTH} schemas`);
  // An `$id` starts a document of its own, and references inside it are relative to it.
  const document = typeof schema['$id'] === 'string' && !schema['$id'].startsWith('#') ? schema : base;
  const context: KeywordContext = {
    schema,
    child: (value, ...keys) => compileNode(compiler, value, document, pointer + pointerOf(keys), depth + 1),
    broken: problem,
    matcher: compiler.matcher,
  };
  const lists: CheckLists = { any: [], object: [], array: [], string: [], number: [] };
  const type = compileType(context);
  if (typeof type === 'function') lists.any.push(type);
  if (has(schema, '$ref')) lists.any.push(compileReference(compiler, schema['$ref'], document, problem));
  if (has(schema, '$dynamicRef')) lists.any.push(problem('is not supported', '$dynamicRef'));
  compileChoices(context, lists);
  compileObject(context, lists);
  compileArray(context, lists);
  compileString(context, lists);
  compileNumber(context, lists);
  compileCombinations(context, lists);
  return assemble(typeof type === 'function' ? undefined : type, lists, schema['nullable'] === true);
}

/** One check out of the checks of a schema's keywords. */
function assemble(
  type: { readonly test: (value: unknown) => boolean; readonly words: string } | undefined,
  lists: CheckLists,
  nullable: boolean,
): Check {
  const { any, ...others } = lists;
  const byKind: { readonly [Name in Kind]?: readonly Check[] } = others;
  const isEmpty = Object.values(lists).every((list: readonly Check[]) => list.length === 0);
  if (isEmpty && type === undefined) return accept;
  return (value, run) => {
    if (nullable && value === null) return;
    applyInside(run, () => {
      if (type !== undefined && !type.test(value)) {
        return fail(run, () => `must be ${type.words}, got ${describe(value)}`, type.words);
      }
      runAll(any, value, run);
      runAll(byKind[kindOf(value)] ?? [], value, run);
    });
  };
}

function runAll(checks: readonly Check[], value: unknown, run: Parameters<Check>[1]): void {
  for (const check of checks) {
    check(value, run);
    if (isDecided(run)) return;
  }
}

type Problem = (reason: string, ...keys: string[]) => Check;

function compileReference(
  compiler: Compiler,
  reference: JsonValue | undefined,
  base: JsonValue,
  problem: Problem,
): Check {
  if (typeof reference !== 'string') return problem('must be a string', '$ref');
  const found = resolve(reference, base);
  if (found === undefined) return problem(`leads to no schema in this document: ${JSON.stringify(reference)}`, '$ref');
  if (typeof found.schema === 'boolean') return found.schema ? accept : refuse;
  let target = compiler.targets.get(found.schema);
  if (target === undefined) {
    target = { ...found, check: accept, pointer: reference.slice(1) };
    compiler.targets.set(found.schema, target);
    compiler.pending.push(target);
  }
  const compiled = target;
  return (value, run) => compiled.check(value, run);
}

/** The schema behind `#` or `#/a/b`, looked up among own properties only. */
function resolve(reference: string, base: JsonValue): { schema: JsonValue; base: JsonValue } | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let schema: JsonValue | undefined = base;
  let document = base;
  for (const segment of reference.split('/').slice(1)) {
    const key = decodeSegment(segment);
    if (key === undefined || typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, key))
      return undefined;
    schema = (schema as Readonly<Record<string, JsonValue | undefined>>)[key];
    if (schema === undefined) return undefined;
    if (isJsonObject(schema) && typeof schema['$id'] === 'string' && !schema['$id'].startsWith('#')) document = schema;
  }
  return { schema, base: document };
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}
