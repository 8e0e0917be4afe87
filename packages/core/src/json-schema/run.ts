import type { ArgumentsIssue } from '../ports/validator.ts';
import { MAX_JSON_DEPTH } from '../json.ts';

/** One check of a value. It reports into the run and never throws. */
export type Check = (value: unknown, run: Run) => void;

/** A failed check. `wanted` is set by type failures, so that alternatives can be told in one sentence. */
export interface Failure extends ArgumentsIssue {
  readonly wanted?: string;
}

/** The state of checking one value. The path is a stack; a pointer is built only for what fails. */
export interface Run {
  readonly path: (string | number)[];
  failures: Failure[];
  /** Only whether something fails is asked: nothing is written down. */
  silent: boolean;
  failed: boolean;
  /** Whether a check was skipped: the value may or may not fit, so `not` and the like can't decide by it. */
  unsure: boolean;
  depth: number;
  steps: number;
  /** Set when the value can't be decided. It outranks every other outcome, so `not` can't turn it into a pass. */
  stopped: ArgumentsIssue | undefined;
}

export const MAX_ISSUES = 20;
/** Schemas applied inside each other: a recursive schema may apply several at each level of a value. */
const MAX_DEPTH = 2 * MAX_JSON_DEPTH;
/** Schemas applied in one check. Branching recursive schemas can take exponential time; nothing honest comes near. */
const MAX_STEPS = 5_000_000;

export function startRun(): Run {
  return {
    path: [],
    failures: [],
    silent: false,
    failed: false,
    unsure: false,
    depth: 0,
    steps: 0,
    stopped: undefined,
  };
}

/** The current place as a JSON pointer. */
export function pointerOf(path: readonly PropertyKey[]): string {
  let pointer = '';
  for (const key of path) pointer += `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return pointer;
}

/** Reports a failure at the current place. The message is only made when somebody will read it. */
export function fail(run: Run, message: () => string, wanted?: string): void {
  run.failed = true;
  if (run.silent || run.failures.length >= MAX_ISSUES) return;
  const path = pointerOf(run.path);
  run.failures.push(wanted === undefined ? { path, message: message() } : { path, message: message(), wanted });
}

/** Gives up on the whole value: it can't be decided, so it doesn't pass. */
export function stop(run: Run, message: string): void {
  run.failed = true;
  run.stopped ??= { path: pointerOf(run.path), message };
}

/** True when looking further would tell nothing more. */
export function isDecided(run: Run): boolean {
  return run.stopped !== undefined || (run.silent ? run.failed : run.failures.length >= MAX_ISSUES);
}

/** Applies one more schema inside those that are being applied, unless there are too many. */
export function applyInside(run: Run, apply: () => void): void {
  if (run.stopped !== undefined) return;
  if (run.depth >= MAX_DEPTH) {
    return stop(run, `is nested too deep to check (more than ${MAX_DEPTH} schemas inside each other)`);
  }
  run.steps += 1;
  if (run.steps > MAX_STEPS) return stop(run, 'is too much work to check against its schema');
  run.depth += 1;
  apply();
  run.depth -= 1;
}

/** Runs a check one level down. */
export function checkAt(run: Run, key: string | number, check: Check, value: unknown): void {
  run.path.push(key);
  check(value, run);
  run.path.pop();
}

/** Whether a value fits. `unsure` when nothing failed and a check was skipped. */
export type Fit = 'yes' | 'no' | 'unsure';

/** Tries a check. It leaves no trace in the run unless it stops the run. */
export function fits(check: Check, value: unknown, run: Run): Fit {
  const { silent, failed, unsure } = run;
  run.silent = true;
  run.failed = false;
  run.unsure = false;
  check(value, run);
  const fit = run.failed ? 'no' : run.unsure ? 'unsure' : 'yes';
  run.silent = silent;
  run.failed = failed || run.stopped !== undefined;
  run.unsure = unsure;
  return fit;
}

/** The failures of a check, reported to nobody else. */
export function failuresOf(check: Check, value: unknown, run: Run): readonly Failure[] {
  const { failures, failed, silent, unsure } = run;
  run.failures = [];
  run.silent = false;
  check(value, run);
  const found = run.failures;
  run.failures = failures;
  run.silent = silent;
  run.unsure = unsure;
  run.failed = failed || run.stopped !== undefined;
  return found;
}
