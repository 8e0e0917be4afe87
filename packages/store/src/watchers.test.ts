import { expect, it } from 'vitest';
import { createWatchers } from './watchers.ts';

it('tells of an own write, though the first look has found it before it was acknowledged', () => {
  const watchers = createWatchers();
  const heard: number[] = [];
  watchers.add('s', (seq) => heard.push(seq));
  watchers.saw('s', { id: 1, seq: 2 });
  watchers.wrote('s', 2);
  watchers.wrote('s', 2);
  expect(heard).toEqual([2]);
  watchers.close();
});

it('tells of nothing that was there when somebody began to watch', () => {
  const watchers = createWatchers();
  const heard: number[] = [];
  watchers.add('s', (seq) => heard.push(seq));
  watchers.saw('s', { id: 1, seq: 7 });
  expect(heard).toEqual([]);
  watchers.wrote('s', 8);
  expect(heard).toEqual([8]);
  watchers.close();
});

it('tells of a session that has taken the name of another, and of each removal once', () => {
  const watchers = createWatchers();
  const heard: number[] = [];
  watchers.add('s', (seq) => heard.push(seq));
  watchers.saw('s', { id: 1, seq: 7 });
  watchers.wrote('s', 8);
  watchers.saw('s', { id: 2, seq: 3 });
  watchers.saw('s', null);
  watchers.removed('s');
  watchers.wrote('s', 1);
  expect(heard).toEqual([8, 3, 3, 1]);
  watchers.close();
});
