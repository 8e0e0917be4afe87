import { expect, it } from 'vitest';
import { createUnknownTypes } from './unknown-types.ts';

it('counts each type, and says nothing when there was none', () => {
  const unknown = createUnknownTypes();
  expect(unknown.counts()).toBeUndefined();
  for (const type of ['a', '__proto__', 'a']) unknown.add(type);
  const counts = unknown.counts() ?? {};
  expect(Object.entries(counts)).toEqual([
    ['a', 2],
    ['__proto__', 1],
  ]);
  expect(Object.getPrototypeOf(counts)).toBe(Object.prototype);
});

it('stays small, whatever types a stream invents', () => {
  const unknown = createUnknownTypes();
  for (let at = 0; at < 1000; at++) unknown.add(`${at}${'x'.repeat(1000)}`);
  const counts = unknown.counts() ?? {};
  expect(Object.keys(counts).length).toBeLessThanOrEqual(21);
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(1000);
  expect(JSON.stringify(counts).length).toBeLessThan(3000);
});
