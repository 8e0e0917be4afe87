import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTeller, idOf } from './notices.ts';

describe('what is appended', () => {
  const sent: string[][] = [];
  const teller = () => createTeller(async (notices) => void sent.push([...notices]));
  const notice = (name: string, seq: number): string => `${idOf(name)}:${seq}`;

  beforeEach(() => {
    sent.length = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is told at once when nothing was told just before', async () => {
    const { wrote } = teller();
    wrote('a', 2);
    await vi.advanceTimersByTimeAsync(1000);
    wrote('a', 3);
    expect(sent).toEqual([[notice('a', 2)], [notice('a', 3)]]);
  });

  it('is told together with what comes soon after, each session with its last event', async () => {
    const { wrote } = teller();
    for (const seq of [2, 3, 4]) wrote('a', seq);
    wrote('b', 7);
    expect(sent).toEqual([[notice('a', 2)]]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(sent).toEqual([[notice('a', 2)], [notice('a', 4), notice('b', 7)]]);
  });

  it('is not told again of a session that was told of otherwise', async () => {
    const { wrote, forget } = teller();
    for (const seq of [2, 3]) wrote('a', seq);
    forget('a');
    await vi.advanceTimersByTimeAsync(1000);
    expect(sent).toEqual([[notice('a', 2)]]);
  });

  it('is told before the journal is closed', async () => {
    const { wrote, flush } = teller();
    for (const seq of [2, 3]) wrote('a', seq);
    await flush();
    expect(sent).toEqual([[notice('a', 2)], [notice('a', 3)]]);
  });
});
