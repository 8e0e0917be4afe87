import { describe, expect, it } from 'vitest';
import { closestName, didYouMean } from './closest.ts';

describe('what a name was meant to be', () => {
  it.each([
    ['sesions', 'sessions'],
    ['session', 'sessions'],
    ['rnu', 'run'],
    ['sess', 'sessions'],
    ['RUN', 'run'],
    ['x', undefined],
    ['frobnicate', undefined],
  ])('%s: %s', (name, meant) => {
    expect(closestName(name, ['run', 'sessions', 'help'])).toBe(meant);
  });

  it('is said, or what there is', () => {
    expect(didYouMean('rnu', ['run', 'help'])).toBe(' Did you mean "run"?');
    expect(didYouMean('frobnicate', ['run', 'help'])).toBe(' There are: run, help.');
    expect(didYouMean('run', [])).toBe('');
  });
});
