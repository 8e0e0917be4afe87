import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DurableEvent } from '../events/events.ts';
import { countOf, cutEvents, keptEvents, packEvents, readerOf } from './kept-events.ts';

const event = (seq: number, decision: unknown): DurableEvent =>
  ({ type: 'decision_made', at: 1_760_000_000_000 + seq, kind: 'hook', key: `k${seq}`, decision, seq }) as DurableEvent;

type Step =
  | { readonly type: 'add'; readonly count: number; readonly exact: boolean }
  | { readonly type: 'pack' }
  | { readonly type: 'cut'; readonly part: number }
  | { readonly type: 'read'; readonly from: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('add' as const), count: fc.integer({ min: 1, max: 300 }), exact: fc.boolean() }),
  fc.constant({ type: 'pack' as const }),
  fc.record({ type: fc.constant('cut' as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ type: fc.constant('read' as const), from: fc.nat({ max: 600 }) }),
);

describe('kept events', () => {
  it('are what was added, however they are packed, cut and read in between', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const kept = keptEvents();
        const plain: DurableEvent[] = [];
        let added = 0;
        for (const each of steps) {
          if (each.type === 'add') {
            for (let n = 0; n < each.count; n++) {
              // What JSON would change is kept as it is.
              const one = event((added += 1), each.exact ? { n } : undefined);
              kept.tail.push(one);
              plain.push(one);
            }
          } else if (each.type === 'pack') packEvents(kept);
          else if (each.type === 'cut') {
            plain.length = Math.floor(plain.length * each.part);
            cutEvents(kept, plain.length);
          } else {
            const next = readerOf(kept, each.from);
            for (const one of plain.slice(each.from, each.from + 5)) expect(next()).toStrictEqual(one);
          }
          expect(countOf(kept)).toBe(plain.length);
        }
        const next = readerOf(kept, 0);
        for (const one of plain) expect(next()).toStrictEqual(one);
        expect(next()).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it('are found by a reader that began before they were packed', () => {
    const kept = keptEvents();
    for (let seq = 1; seq <= 600; seq++) kept.tail.push(event(seq, { seq }));
    const next = readerOf(kept, 0);
    const seqs = [next()?.seq, next()?.seq];
    packEvents(kept);
    for (let read = next(); read; read = next()) seqs.push(read.seq);
    expect(seqs).toEqual(Array.from({ length: 600 }, (_, index) => index + 1));
  });
});
