import type { PatternNode } from './pattern-syntax.ts';

/** A compiled automaton. `size` bounds the steps one character can cost. */
export interface Automaton {
  readonly size: number;
  readonly test: (text: string) => boolean;
}

/** ASCII is told by its code alone, for the rest the character is given too. */
type Matcher = (character: string, code: number) => boolean;

/** One state: a character to match, a way on without a character, or the end. */
type State =
  | { readonly type: 'character'; readonly matches: Matcher }
  | { readonly type: 'fork'; to: number[] }
  | { readonly type: 'assertion'; readonly kind: 'start' | 'end' | 'word' | 'not_word' }
  | { readonly type: 'match' };

/** Enough for any pattern a person writes; counted repetitions are written out. */
const MAX_STATES = 5000;

/**
 * Compiles an expression to an automaton that follows all its ways at once, so a text costs at most its length times the
 * number of states, whatever the pattern. Undefined when it has look-around or back-references, or gets too big.
 */
export function compileAutomaton(node: PatternNode, unicode: boolean): Automaton | undefined {
  const states: State[] = [];
  const matchers = new Map<string, Matcher>();
  if (!emit(node, { states, matchers, unicode }) || states.length >= MAX_STATES) return undefined;
  states.push({ type: 'match' });
  return { size: states.length, test: (text) => run(states, text, unicode) };
}

interface Output {
  readonly states: State[];
  readonly matchers: Map<string, Matcher>;
  readonly unicode: boolean;
}

/** Appends the states of a node: entered at its first, left by falling off its last. False when it can't be done. */
function emit(node: PatternNode, output: Output): boolean {
  const { states } = output;
  if (states.length > MAX_STATES) return false;
  switch (node.type) {
    case 'atom':
      states.push({ type: 'character', matches: matcherOf(node.source, output) });
      return true;
    case 'assertion':
      states.push(node);
      return true;
    case 'sequence':
      return node.parts.every((part) => emit(part, output));
    case 'choice':
      return emitChoice(node.options, output);
    case 'repeat':
      return emitRepeat(node, output);
    case 'irregular':
      return false;
  }
}

function fork(states: State[]): { to: number[] } {
  const state: State & { type: 'fork' } = { type: 'fork', to: [] };
  states.push(state);
  return state;
}

function emitChoice(options: readonly PatternNode[], output: Output): boolean {
  const { states } = output;
  const entry = fork(states);
  const exits: { to: number[] }[] = [];
  for (const option of options) {
    entry.to.push(states.length);
    if (!emit(option, output)) return false;
    exits.push(fork(states));
  }
  for (const exit of exits) exit.to.push(states.length);
  return true;
}

function emitRepeat(node: PatternNode & { type: 'repeat' }, output: Output): boolean {
  const { states } = output;
  const { body, least, most } = node;
  for (let count = 0; count < least; count += 1) {
    const before = states.length;
    if (!emit(body, output)) return false;
    // An empty body adds no states, so no bound would end the loop.
    if (states.length === before) return true;
  }
  if (most === Infinity) {
    const entry = fork(states);
    const loop = states.length - 1;
    entry.to.push(states.length);
    if (!emit(body, output)) return false;
    fork(states).to.push(loop);
    entry.to.push(states.length);
    return true;
  }
  const skips: { to: number[] }[] = [];
  for (let count = least; count < most; count += 1) {
    const skip = fork(states);
    skip.to.push(states.length);
    skips.push(skip);
    if (!emit(body, output)) return false;
  }
  for (const skip of skips) skip.to.push(states.length);
  return true;
}

/** Asks JavaScript itself what the atom matches: a table for ASCII, the expression for the rest. */
function matcherOf(source: string, { matchers, unicode }: Output): Matcher {
  const known = matchers.get(source);
  if (known !== undefined) return known;
  const expression = new RegExp(`^(?:${source})$`, unicode ? 'u' : '');
  const ascii = Array.from({ length: 128 }, (_, code) => expression.test(String.fromCharCode(code)));
  const matcher: Matcher = (character, code) => (code < 128 ? ascii[code] === true : expression.test(character));
  matchers.set(source, matcher);
  return matcher;
}

function run(states: readonly State[], text: string, unicode: boolean): boolean {
  let current: number[] = [];
  let next: number[] = [];
  const walk: Walk = { states, text, at: 0, reached: new Int32Array(states.length).fill(-1), open: [] };
  for (;;) {
    // The expression may start anywhere.
    if (follow(walk, 0, current)) return true;
    const { at } = walk;
    if (at >= text.length) return false;
    const code = (unicode ? text.codePointAt(at) : text.charCodeAt(at)) ?? 0;
    const character = code < 128 ? '' : String.fromCodePoint(code);
    walk.at = at + (code > 0xffff ? 2 : 1);
    for (const index of current) {
      const state = states[index];
      if (state?.type !== 'character' || !state.matches(character, code)) continue;
      if (follow(walk, index + 1, next)) return true;
    }
    current.length = 0;
    [current, next] = [next, current];
  }
}

interface Walk {
  readonly states: readonly State[];
  readonly text: string;
  at: number;
  /** Where in the text each state was last reached: a state is followed once per place. */
  readonly reached: Int32Array;
  /** Working space, empty between uses. */
  readonly open: number[];
}

/** Adds every character state that can be reached without a character. True when the match is among them. */
function follow(walk: Walk, start: number, into: number[]): boolean {
  const { states, reached, at, open } = walk;
  open.push(start);
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (reached[index] === at) continue;
    reached[index] = at;
    const state = states[index];
    if (state?.type === 'match') return true;
    if (state?.type === 'character') into.push(index);
    else if (state?.type === 'fork') for (const way of state.to) open.push(way);
    else if (state?.type === 'assertion' && holds(state.kind, walk)) open.push(index + 1);
  }
  return false;
}

/** Word characters are ASCII, so a code unit is enough to tell. */
const isWord = (text: string, at: number): boolean => /^[A-Za-z0-9_]$/.test(text.charAt(at));

function holds(kind: 'start' | 'end' | 'word' | 'not_word', { text, at }: Walk): boolean {
  if (kind === 'start') return at === 0;
  if (kind === 'end') return at === text.length;
  const isBoundary = isWord(text, at - 1) !== isWord(text, at);
  return isBoundary === (kind === 'word');
}
