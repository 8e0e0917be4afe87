import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { closeInOrder } from './closing.ts';

function world() {
  const closed: string[] = [];
  const bench = { prepared: { close: async () => void closed.push('prepared') } };
  const ui = (close?: () => Promise<void>) => ({
    get session() {
      if (!close) throw new Error('There is no session yet.');
      return { close } as never;
    },
  });
  return { closed, bench, ui, clock: testClock() };
}

describe('the end of a terminal', () => {
  it('closes the session, then what was prepared for it', async () => {
    const { closed, bench, ui, clock } = world();
    const session = ui(async () => void closed.push('session'));
    await closeInOrder(session, Promise.resolve(bench), clock);
    expect(closed).toEqual(['session', 'prepared']);
  });

  it('closes what was prepared where no session could be opened, or closed', async () => {
    const { closed, bench, ui, clock } = world();
    await closeInOrder(ui(), Promise.resolve(bench), clock);
    await closeInOrder(
      ui(() => Promise.reject(new Error('It fails.'))),
      Promise.resolve(bench),
      clock,
    );
    expect(closed).toEqual(['prepared', 'prepared']);
  });

  it('waits for what is being prepared, and closes it', async () => {
    const { closed, bench, ui, clock } = world();
    const ready = Promise.withResolvers<typeof bench>();
    const ended = closeInOrder(ui(), ready.promise, clock);
    await clock.advance(1999);
    ready.resolve(bench);
    await ended;
    expect(closed).toEqual(['prepared']);
  });

  it('leaves behind what hangs for two seconds', async () => {
    const { closed, ui, clock } = world();
    const ended = closeInOrder(ui(), new Promise(() => {}), clock);
    await clock.advance(2000);
    await ended;
    expect(closed).toEqual([]);
  });
});
