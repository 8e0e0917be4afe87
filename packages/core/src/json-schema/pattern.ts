import { compileAutomaton } from './pattern-automaton.ts';
import { parsePattern, type PatternNode } from './pattern-syntax.ts';

/** A `pattern` made ready to run, or the reason why it can't be. */
export type CompiledPattern =
  | {
      readonly ok: true;
      /** Characters (UTF-16 units) of the longest text it may be run on. */
      readonly maxLength: number;
      readonly test: (text: string) => boolean;
    }
  | { readonly ok: false; readonly reason: string };

/** Steps of backtracking a pattern may take on one text at worst: below a second. */
const STEP_BUDGET = 1e8;
/** Steps of the automaton, which are slower: a few seconds at the very worst. Twenty characters of pattern read a million of text. */
const AUTOMATON_BUDGET = 3e7;
/** Ways an expression may branch, outside of repetitions, and still be left to JavaScript's engine. */
const FEW_BRANCHES = 6;
/** A fixed number of one character up to this is as cheap as writing it out. */
const SHORT_COUNT = 64;

/**
 * Compiles a JSON Schema `pattern`: a JavaScript regular expression, not anchored, with the `u` flag where it allows it.
 *
 * JavaScript's engine backtracks, so a pattern from elsewhere could stop the process for years. Therefore:
 * - plain expressions that have little to backtrack over (`^[a-z]+$`, `^\d{4}-\d{2}$`) run on JavaScript's engine;
 * - all other regular ones run on an automaton, in time proportional to the text;
 * - look-around and back-references need JavaScript's engine. They are refused when a repeated group repeats or branches
 *   inside, and otherwise limited to texts short enough that the worst case is bearable.
 */
export function compilePattern(source: string): CompiledPattern {
  const compiled = toExpression(source);
  if (compiled === undefined) return { ok: false, reason: 'is not a valid regular expression' };
  const { expression, unicode } = compiled;
  const node = parsePattern(source, unicode);
  if (node === undefined) return { ok: false, reason: 'uses syntax of regular expressions that is not supported here' };
  const shape = measure(node);
  const test = (text: string): boolean => expression.test(text);
  const power = shape.repeats + (startsAtStart(node) ? 0 : 1);
  const isPlain = !shape.nested && shape.branches <= FEW_BRANCHES;
  if (isPlain && !shape.irregular && power <= 1) return { ok: true, maxLength: Infinity, test };
  if (!shape.irregular) {
    const automaton = compileAutomaton(node, unicode);
    if (automaton === undefined) return { ok: false, reason: 'is a regular expression too big to run' };
    return { ok: true, maxLength: Math.floor(AUTOMATON_BUDGET / automaton.size), test: automaton.test };
  }
  if (!isPlain) {
    return {
      ok: false,
      reason:
        'combines look-around or back-references with groups that repeat or branch inside a repetition, which can ' +
        'take exponential time; write it without one or the other',
    };
  }
  const budget = STEP_BUDGET / 2 ** shape.branches;
  return { ok: true, maxLength: Math.floor(budget ** (1 / Math.max(1, power))), test };
}

/** Without the `u` flag for sources only the old grammar accepts, such as `\-`. */
function toExpression(source: string): { expression: RegExp; unicode: boolean } | undefined {
  for (const unicode of [true, false]) {
    try {
      return { expression: new RegExp(source, unicode ? 'u' : ''), unicode };
    } catch {
      // Not an expression of this grammar; the other one is tried next, and then the answer is no.
    }
  }
  return undefined;
}

interface Shape {
  /** Repetitions, short fixed ones left out. Each may multiply the work by the length of the text. */
  readonly repeats: number;
  /** Options and alternatives outside of repetitions. Each may double the work. */
  readonly branches: number;
  /** Whether a repeated group itself repeats or branches. */
  readonly nested: boolean;
  readonly irregular: boolean;
}

const FLAT: Shape = { repeats: 0, branches: 0, nested: false, irregular: false };

function measure(node: PatternNode): Shape {
  switch (node.type) {
    case 'atom':
    case 'assertion':
      return FLAT;
    case 'sequence':
      return node.parts.map(measure).reduce(together, FLAT);
    case 'choice':
      return node.options.map(measure).reduce(together, { ...FLAT, branches: node.options.length - 1 });
    case 'irregular':
      return { ...measure(node.body), irregular: true };
    case 'repeat': {
      const body = measure(node.body);
      if (node.most <= 1) return { ...body, branches: body.branches + 1 };
      const nested = body.nested || body.repeats + body.branches > 0;
      const isShort = node.most === node.least && node.most <= SHORT_COUNT && node.body.type === 'atom';
      return { ...body, nested, repeats: body.repeats + (isShort ? 0 : 1) };
    }
  }
}

function together(a: Shape, b: Shape): Shape {
  return {
    repeats: a.repeats + b.repeats,
    branches: a.branches + b.branches,
    nested: a.nested || b.nested,
    irregular: a.irregular || b.irregular,
  };
}

function startsAtStart(node: PatternNode): boolean {
  if (node.type !== 'sequence') return false;
  const [first] = node.parts;
  return first?.type === 'assertion' && first.kind === 'start';
}
