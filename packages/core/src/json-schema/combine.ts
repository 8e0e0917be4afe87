import type { JsonValue } from '../json.ts';
import type { CheckLists, KeywordContext } from './keywords.ts';
import { type Check, type Failure, fail, failuresOf, fits, MAX_ISSUES, pointerOf, type Run } from './run.ts';
import { describe, has } from './values.ts';

/** `allOf`, `anyOf`, `oneOf`, `not` and `if`. */
export function compileCombinations(context: KeywordContext, { any: checks }: CheckLists): void {
  const { schema } = context;
  const all = branches(context, 'allOf', checks);
  if (all !== undefined) checks.push(...all);

  const some = branches(context, 'anyOf', checks);
  if (some !== undefined)
    checks.push((value, run) => {
      let isUnsure = false;
      for (const branch of some) {
        const fit = fits(branch, value, run);
        if (fit === 'yes' || run.stopped !== undefined) return;
        isUnsure ||= fit === 'unsure';
      }
      if (isUnsure) run.unsure = true;
      else failNearest(some, value, run);
    });

  const one = branches(context, 'oneOf', checks);
  if (one !== undefined) checks.push((value, run) => checkOneOf(one, value, run));

  if (has(schema, 'not')) {
    const forbidden = context.child(schema['not'] ?? true, 'not');
    checks.push((value, run) => {
      const fit = fits(forbidden, value, run);
      if (fit === 'unsure') run.unsure = true;
      if (fit === 'yes') fail(run, () => `must not have the forbidden form, got ${describe(value)}`);
    });
  }

  if (!has(schema, 'if')) return;
  const condition = context.child(schema['if'] ?? true, 'if');
  const then = has(schema, 'then') ? context.child(schema['then'] ?? true, 'then') : undefined;
  const otherwise = has(schema, 'else') ? context.child(schema['else'] ?? true, 'else') : undefined;
  checks.push((value, run) => {
    const fit = fits(condition, value, run);
    if (fit === 'unsure') run.unsure = true;
    else (fit === 'yes' ? then : otherwise)?.(value, run);
  });
}

function branches(context: KeywordContext, key: string, checks: Check[]): readonly Check[] | undefined {
  if (!has(context.schema, key)) return undefined;
  const list = context.schema[key];
  if (!Array.isArray(list) || list.length === 0) {
    checks.push(context.broken('must be a list of at least one schema', key));
    return undefined;
  }
  return (list as readonly JsonValue[]).map((branch, index) => context.child(branch, key, String(index)));
}

function checkOneOf(options: readonly Check[], value: unknown, run: Run): void {
  const matching: number[] = [];
  let isUnsure = false;
  for (const [index, branch] of options.entries()) {
    const fit = fits(branch, value, run);
    if (fit === 'yes') matching.push(index + 1);
    isUnsure ||= fit === 'unsure';
    if (run.stopped !== undefined) return;
    if (matching.length > 1) break;
  }
  if (matching.length < 2 && isUnsure) run.unsure = true;
  else if (matching.length === 0) failNearest(options, value, run);
  if (matching.length > 1) {
    fail(run, () => `must fit exactly one of the ${options.length} allowed forms, but fits ${matching.join(' and ')}`);
  }
}

/**
 * Says why none of the forms fits. When only the type is wrong, the types are enough. Otherwise the form that fails in
 * the fewest places is most likely the one that was meant, and its failures are the useful ones.
 */
function failNearest(options: readonly Check[], value: unknown, run: Run): void {
  if (run.silent) {
    fail(run, () => '');
    return;
  }
  const here = pointerOf(run.path);
  const wanted: string[] = [];
  let nearest: readonly Failure[] | undefined;
  let candidates = 0;
  for (const branch of options) {
    const failures = failuresOf(branch, value, run);
    if (run.stopped !== undefined) return;
    const typeFailure = failures.find((failure) => failure.wanted !== undefined && failure.path === here);
    if (typeFailure?.wanted !== undefined) {
      wanted.push(typeFailure.wanted);
      continue;
    }
    candidates += 1;
    if (nearest === undefined || failures.length < nearest.length) nearest = failures;
  }
  if (nearest === undefined) {
    const words = [...new Set(wanted)].join(' or ');
    fail(run, () => `must be ${words}, got ${describe(value)}`, words);
    return;
  }
  if (candidates > 1) {
    fail(run, () => `fits none of the ${options.length} allowed forms; what the nearest one asks for follows`);
  }
  run.failed = true;
  run.failures.push(...nearest.slice(0, Math.max(0, MAX_ISSUES - run.failures.length)));
}
