import { expect, it } from 'vitest';
import { randomIds } from './ids.ts';

it('an id has its prefix and 32 random digits, whatever was asked for before', () => {
  const prefixes = ['msg', 'call', 'msg', ''];
  const ids = Array.from({ length: 1000 }, (_, index) => randomIds.create(prefixes[index % prefixes.length] ?? ''));
  for (const [index, id] of ids.entries()) {
    expect(id).toMatch(/^[a-z]*_[0-9a-f]{32}$/);
    expect(id.slice(0, -33)).toBe(prefixes[index % prefixes.length]);
  }
  expect(new Set(ids.map((id) => id.slice(-32))).size).toBe(ids.length);
});

it('every digit of an id takes every value, but the two that say it is random', () => {
  const ids = Array.from({ length: 2000 }, () => randomIds.create('x'));
  const values = Array.from({ length: 32 }, (_, at) => new Set(ids.map((id) => id[at + 2])).size);
  expect(values.toSpliced(16, 1).toSpliced(12, 1)).toEqual(Array.from({ length: 30 }, () => 16));
});
