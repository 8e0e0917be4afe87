import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDeltaForm } from './delta.ts';

type Event = Record<string, unknown> & { delta: string };

const event = (delta: string, fields: object = {}): Event => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  delta,
  logprobs: [],
  sequence_number: 7,
  obfuscation: 'abc',
  ...fields,
});

/** A form that has learned one event, and what it hands on since. */
function learned(from: Event, data: string = JSON.stringify(from)) {
  const pieces: string[] = [];
  const form = createDeltaForm();
  form.learn(data, from, (piece) => void pieces.push(piece));
  return {
    form,
    pieces,
    apply: (next: Event | string) => form.apply(typeof next === 'string' ? next : JSON.stringify(next)),
  };
}

describe('a learned form', () => {
  it('takes the delta of an event that differs in delta, number and padding', () => {
    const { apply, pieces } = learned(event('a'));
    for (const delta of ['b', ' ', 'ü🦊', '"quoted"', '\\', '\n\u0001', '","delta":"x']) {
      expect(apply(event(delta, { sequence_number: 1234, obfuscation: '' }))).toBe(true);
    }
    expect(pieces).toEqual(['b', ' ', 'ü🦊', '"quoted"', '\\', '\n\u0001', '","delta":"x']);
  });

  it('takes no other event', () => {
    const { apply, pieces } = learned(event('a'));
    for (const other of [
      event('b', { item_id: 'msg_2' }),
      event('b', { output_index: 1 }),
      event('b', { type: 'response.refusal.delta' }),
      event('b', { logprobs: [{ token: 'b' }] }),
      event('b', { more: 1 }),
      event('b', { sequence_number: -1 }),
      event('b', { obfuscation: undefined }),
    ]) {
      expect(apply(other)).toBe(false);
    }
    for (const broken of [
      '',
      '{',
      `${JSON.stringify(event('b'))} `,
      JSON.stringify(event('b')).replace('"b"', '"b" "c"'),
    ]) {
      expect(apply(broken)).toBe(false);
    }
    expect(apply(JSON.stringify(event('x')).replace('"x"', '"\\x"'))).toBe(false);
    expect(pieces).toEqual([]);
  });

  it('is that of any order of fields, any spacing and any escapes', () => {
    const { delta, sequence_number, ...rest } = event('é');
    for (const from of [
      { sequence_number, ...rest, delta },
      { delta, ...rest, sequence_number },
      { delta, type: 't' },
    ]) {
      const written = (text: string): string =>
        JSON.stringify({ ...from, delta: text })
          .replace(/":/g, '": ')
          .replace('é', '\\u00e9');
      const { apply, pieces } = learned(from, written('é'));
      expect(apply(written('xé'))).toBe(true);
      expect(pieces).toEqual(['xé']);
    }
  });

  it('hands on no empty piece', () => {
    const { apply, pieces } = learned(event('a'));
    expect(apply(event(''))).toBe(true);
    expect(pieces).toEqual([]);
  });

  it('can be forgotten', () => {
    const { form, apply } = learned(event('a'));
    form.forget();
    expect(apply(event('b'))).toBe(false);
  });
});

describe('a form', () => {
  it('isn’t learned where the place of the delta can’t be told', () => {
    const nested = { inner: { delta: 'a' }, ...event('a') };
    expect(learned(nested).apply({ ...nested, delta: 'b' })).toBe(false);
    const notText = { ...event('a'), sequence_number: '7' };
    expect(learned(notText).apply(notText)).toBe(false);
  });

  it('isn’t learned from long events, which aren’t recognised either', () => {
    const long = 'x'.repeat(5000);
    expect(learned(event(long)).apply(event('b'))).toBe(false);
    expect(learned(event('a')).apply(event(long))).toBe(false);
  });

  it('isn’t looked for any more when events never repeat', () => {
    const form = createDeltaForm();
    for (let at = 0; at < 12; at++) {
      expect(form.isLearning()).toBe(true);
      form.learn(
        JSON.stringify(event('a', { item_id: `msg_${at}` })),
        event('a', { item_id: `msg_${at}` }),
        () => undefined,
      );
    }
    expect(form.isLearning()).toBe(false);
  });

  it('never says anything but what parsing would say', () => {
    const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.nat(), fc.constant([]), fc.constant(null));
    const fields = fc.record(
      {
        item_id: fc.constantFrom('a', 'b'),
        sequence_number: value,
        obfuscation: value,
        logprobs: value,
        delta: fc.string({ unit: 'binary', maxLength: 8 }),
      },
      { requiredKeys: ['delta'] },
    );
    fc.assert(
      fc.property(fields, fc.array(fields, { maxLength: 5 }), fc.boolean(), (first, others, mutate) => {
        const { apply, pieces } = learned(first);
        for (const other of others) {
          const data = JSON.stringify(other);
          const before = pieces.length;
          if (!apply(mutate ? data.replace('"', '') : data)) continue;
          expect(mutate).toBe(false);
          expect(pieces.slice(before)).toEqual(other.delta === '' ? [] : [other.delta]);
          expect({ ...other, delta: '', sequence_number: 0, obfuscation: '' }).toEqual({
            ...first,
            delta: '',
            sequence_number: 0,
            obfuscation: '',
          });
        }
      }),
      { numRuns: 500 },
    );
  });
});
