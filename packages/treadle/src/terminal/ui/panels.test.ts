import { expect, it } from 'vitest';

import { createPanels } from './panels.ts';

/** Panels with a clock of their own; what waits for a pause goes on at once where the pause is over. */
function world() {
  let at = 1000;
  const device = {
    now: () => at,
    after(ms: number, fn: () => void) {
      setImmediate(() => {
        at += ms;
        fn();
      });
      return () => {};
    },
  };
  const panels = createPanels({ device, hasDraft: () => false, changed: () => {} });
  return {
    panels,
    pass: (ms: number): void => {
      at += ms;
    },
  };
}

it('asks for a key right after the provider was chosen: a paste at once is the answer, and no draft', async () => {
  const { panels, pass } = world();
  const chosen = panels.pick('Which one?', [{ value: 'a', text: 'A' }], { isAsked: true, isNumbered: true });
  await expect.poll(() => panels.open !== null).toBe(true);
  pass(400);
  panels.key({ name: '1', sequence: '1' });
  expect(await chosen).toBe('a');
  const key = panels.ask('The key', { isAsked: true, isSecret: true });
  await Promise.resolve();
  await Promise.resolve();
  expect(panels.paste('sk-secret')).toBe('panel');
  panels.key({ name: 'enter', sequence: '\r' });
  expect(await key).toBe('sk-secret');
});

it('gives keys of a secret to nothing else, and those before another question to the draft', async () => {
  const { panels, pass } = world();
  const secret = panels.ask('The key', { isAsked: true, isSecret: true });
  await expect.poll(() => panels.open !== null).toBe(true);
  expect(panels.key({ name: 's', sequence: 's' })).toBe('panel');
  panels.key({ name: 'enter', sequence: '\r' });
  expect(await secret).toBe('s');
  pass(1000);
  void panels.ask('A name', { isAsked: true });
  await expect.poll(() => panels.open !== null).toBe(true);
  expect(panels.key({ name: 's', sequence: 's' })).toBe('draft');
});
