import { expect, it } from 'vitest';

import { answerGate } from './questions.ts';

function world() {
  let at = 1000;
  const gate = answerGate(() => at);
  const after = (ms: number): boolean => {
    at += ms;
    return gate.isOpen;
  };
  return { gate, after };
}

it('takes no answer to a menu before it has been drawn, and then for a moment', () => {
  const { gate, after } = world();
  gate.changed();
  expect(after(60_000)).toBe(false);
  gate.typed();
  expect(after(60_000)).toBe(false);
  gate.drawn();
  expect([after(0), after(299), after(1)]).toEqual([false, false, true]);
});

it('takes no answer while keys are for something else, and longer after a line that was taken away', () => {
  const { gate, after } = world();
  gate.changed();
  gate.drawn();
  after(1000);
  gate.typed();
  expect([after(299), after(1)]).toEqual([false, true]);
  gate.typed(true);
  gate.changed();
  gate.drawn();
  expect([after(1400), after(100)]).toEqual([false, true]);
  gate.typed(true);
  gate.typed();
  expect([after(299), after(1)]).toEqual([false, true]);
});

it('takes no digit of several keys that are read at once, but keys of several bytes', () => {
  const { gate, after } = world();
  after(1000);
  gate.read(Buffer.from('1. Do this\r'));
  expect(gate.isOpen).toBe(false);
  gate.read(Buffer.from('\u001b[49u'));
  expect(gate.isOpen).toBe(true);
  gate.read(Buffer.from('1'));
  expect(gate.isOpen).toBe(true);
});
