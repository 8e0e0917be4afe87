import type { PatternNode } from './validate-pattern-syntax.ts';

/** A compiled automaton. `size` bounds the steps one character can cost. */
export interface Automaton {
  readonly size: number;
  readonly test: (text: string) => boolean;
}

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
  return { size: states.length, test: (text) => run(states, unicode ? Array.from(text) : text.split('')) };
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

function run(states: readonly State[], characters: readonly string[]): boolean {
  let current: number[] = [];
  let next: number[] = [];
  /** When each state was last reached, as a position: a state is followed once per position. */
  const reached = new Int32Array(states.length).fill(-1);
  for (let position = 0; position <= characters.length; position += 1) {
    // The expression may start anywhere.
    if (follow(states, 0, { characters, position, reached, into: current })) return true;
    const character = characters[position];
    if (character === undefined) return false;
    const code = character.charCodeAt(0);
    const ahead = { characters, position: position + 1, reached, into: next };
    for (const index of current) {
      const state = states[index];
      if (state?.type !== 'character' || !state.matches(character, code)) continue;
      if (follow(states, index + 1, ahead)) return true;
    }
    current.length = 0;
    [current, next] = [next, current];
  }
  return false;
}

interface Frontier {
  readonly characters: readonly string[];
  readonly position: number;
  readonly reached: Int32Array;
  readonly into: number[];
}

/** Adds every character state that can be reached without a character. True when the match is among them. */
function follow(states: readonly State[], start: number, frontier: Frontier): boolean {
  const { reached, position, into } = frontier;
  const open = [start];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (reached[index] === position) continue;
    reached[index] = position;
    const state = states[index];
    if (state?.type === 'match') return true;
    if (state?.type === 'character') into.push(index);
    else if (state?.type === 'fork') open.push(...state.to);
    else if (state?.type === 'assertion' && holds(state.kind, frontier)) open.push(index + 1);
  }
  return false;
}

const isWord = (character: string | undefined): boolean => character !== undefined && /^[A-Za-z0-9_]$/.test(character);

function holds(kind: 'start' | 'end' | 'word' | 'not_word', { characters, position }: Frontier): boolean {
  if (kind === 'start') return position === 0;
  if (kind === 'end') return position === characters.length;
  const boundary = isWord(characters[position - 1]) !== isWord(characters[position]);
  return boundary === (kind === 'word');
}
