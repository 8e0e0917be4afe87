import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newGuard, observeTurn, type ObservedCall, type ObservedTurn } from './guard.ts';
import {
  DEFAULT_LOOP_DETECTION,
  findLoop,
  steeringText,
  type LoopDetection,
  type LoopFinding,
} from './loop-detection.ts';

const call = (name: string, args = '', said = 'ok', isError = false): ObservedCall => ({
  name,
  arguments: { of: args },
  content: [{ type: 'text', text: said }],
  isError,
});
const turn = (...calls: readonly ObservedCall[]): ObservedTurn => ({ calls, isEmpty: false });
const EMPTY: ObservedTurn = { calls: [], isEmpty: true };
const ANSWER: ObservedTurn = { calls: [], isEmpty: false };
const [A, B, C] = [turn(call('a')), turn(call('b')), turn(call('c'))];

function after(turns: readonly ObservedTurn[], limits: Partial<LoopDetection> = {}): LoopFinding | null {
  const guard = newGuard();
  for (const each of turns) observeTurn(guard, each);
  return findLoop(guard, { ...DEFAULT_LOOP_DETECTION, ...limits });
}

describe('R3: getting nowhere is', () => {
  it.each<[string, readonly ObservedTurn[], LoopFinding['pattern'] | null]>([
    ['nothing at first', [], null],
    ['not the same call twice', [A, A], null],
    ['the same call with the same result three times', [A, A, A], 'repeated_calls'],
    ['and more often', [A, A, A, A], 'repeated_calls'],
    ['not when another call comes between', [A, A, B, A], null],
    ['not when the arguments differ', [turn(call('a', '1')), turn(call('a', '2')), turn(call('a', '3'))], null],
    [
      'not when the result differs',
      [turn(call('a', '', '1')), turn(call('a', '', '2')), turn(call('a', '', '3'))],
      null,
    ],
    ['not when a reply without calls comes between', [A, A, ANSWER, A], null],
    [
      'the same calls in one turn, three times',
      [turn(call('a'), call('b')), turn(call('a'), call('b')), turn(call('a'), call('b'))],
      'repeated_calls',
    ],
    ['A, B, A, B', [A, B, A, B], 'cycle'],
    ['not A, B, A', [A, B, A], null],
    ['not A, B, A, C', [A, B, A, C], null],
    ['A, B, C, A, B, C', [A, B, C, A, B, C], 'cycle'],
    ['A, A, B, A, A, B', [A, A, B, A, A, B], 'cycle'],
    ['an empty reply', [A, EMPTY], 'empty_answer'],
    ['not an answer', [A, ANSWER], null],
  ])('%s', (_, turns, pattern) => {
    expect(after(turns)?.pattern ?? null).toBe(pattern);
  });

  it('the same error five times in a row, whatever the arguments, until a call succeeds', () => {
    const failing = (n: number): ObservedTurn => turn(call('write', `${n}`, 'disk full', true));
    const four = [1, 2, 3, 4].map(failing);
    expect(after(four)).toBeNull();
    expect(after([...four, failing(5)])).toEqual({
      pattern: 'repeated_error',
      what: 'the same error 5 times in a row: write: disk full',
    });
    expect(after([...four, A, failing(5)])).toBeNull();
    expect(after([...four, turn(call('write', '5', 'no such folder', true))])).toBeNull();
    expect(after([turn(...[1, 2, 3, 4, 5].map((n) => call('write', `${n}`, 'disk full', true)))])?.pattern).toBe(
      'repeated_error',
    );
  });

  it.each<keyof LoopDetection>(['repeatedCalls', 'repeatedErrors', 'emptyAnswers', 'cycles'])(
    'as many as `%s` says, and never when that is Infinity',
    (name) => {
      const failing = turn(call('a', '', 'no', true));
      const patterns = {
        repeatedCalls: Array.from({ length: 12 }, () => A),
        repeatedErrors: Array.from({ length: 12 }, (_, n) => turn(call('a', `${n}`, 'no', true))),
        emptyAnswers: Array.from({ length: 12 }, () => EMPTY),
        cycles: Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? A : failing)),
      };
      const firstAt = (most: number): number =>
        patterns[name].findIndex((_, index) => after(patterns[name].slice(0, index + 1), { [name]: most }) !== null) +
        1;
      expect(firstAt(4)).toBe(name === 'cycles' ? 8 : 4);
      expect(firstAt(Infinity)).toBe(0);
    },
  );

  it('names what repeats, shortly, whatever is in it', () => {
    const long = turn(call('read_file', 'x'.repeat(5000), 'no'));
    const { what } = after([long, long, long]) ?? { what: '' };
    expect(what).toContain('read_file({"of":"xxx');
    expect(what.length).toBeLessThan(400);
    expect(steeringText({ pattern: 'repeated_calls', what })).toContain('read_file(');
    expect(steeringText({ pattern: 'empty_answer', what: 'an empty reply' })).toContain('empty');
  });
});

describe('what the guard remembers', () => {
  it('stays small and plain however long the run is, and is the same when it is stored in between', () => {
    const some = fc.constantFrom(A, B, C, EMPTY, ANSWER, turn(call('a', '', 'no', true)), turn());
    fc.assert(
      fc.property(fc.array(some, { maxLength: 60 }), fc.nat(60), (turns, cut) => {
        const guard = newGuard();
        let stored = newGuard();
        for (const [index, each] of turns.entries()) {
          observeTurn(guard, each);
          if (index === cut) stored = JSON.parse(JSON.stringify(stored)) as typeof stored;
          observeTurn(stored, each);
        }
        expect(stored).toEqual(guard);
        expect(JSON.stringify(guard).length).toBeLessThan(800);
      }),
    );
  });

  it('never finds anything in turns that are all different', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 30 }), (names) => {
        expect(after(names.map((name) => turn(call('tool', name))))).toBeNull();
      }),
    );
  });
});
