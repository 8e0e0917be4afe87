import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDeltaTemplate } from './delta-template.ts';
import type { ChangingFields, DeltaTemplate } from './delta-template.ts';

const read = (data: string): unknown => {
  const event = JSON.parse(data) as { d?: { t?: unknown } } | null;
  return event?.d?.t;
};

const taught = (event: object, piece: string, got: string[], changing?: ChangingFields): DeltaTemplate => {
  const template = createDeltaTemplate(changing);
  template.learn(JSON.stringify(event), piece, read, (text) => got.push(text));
  return template;
};

describe('an event that differs in its piece only', () => {
  it('is handled without being parsed', () => {
    const got: string[] = [];
    const template = taught({ id: 1, z: 'first', d: { t: 'first' } }, 'first', got);
    expect(template.apply('{"id":1,"z":"first","d":{"t":"next"}}')).toBe(true);
    expect(got).toEqual(['next']);
  });

  it('may have escapes, and anything JSON may have, in its piece', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (piece) => {
        const got: string[] = [];
        const template = taught({ d: { t: 'first' } }, 'first', got);
        expect(template.apply(JSON.stringify({ d: { t: piece } }))).toBe(true);
        expect(got).toEqual([piece]);
      }),
    );
  });
});

describe('an event that differs in its piece and in fields that say nothing', () => {
  const changing = { strings: ['pad'], counts: ['n'] };
  const lesson = { n: 1, d: { t: 'first' }, usage: { n: 10, list: [{ n: 2 }] }, pad: 'abc' };

  it('is handled without being parsed, however often they stand in it', () => {
    const got: string[] = [];
    const template = taught(lesson, 'first', got, changing);
    const next = { n: 234, d: { t: 'a "quoted" \\' }, usage: { n: 0, list: [{ n: 77 }] }, pad: '' };
    expect(template.apply(JSON.stringify(next))).toBe(true);
    expect(got).toEqual(['a "quoted" \\']);
  });

  it.each([
    ['no count', JSON.stringify(lesson).replace('"n":2', '"n":')],
    ['a count with a fraction', JSON.stringify(lesson).replace('"n":2', '"n":2.5')],
    ['a count that is no JSON', JSON.stringify(lesson).replace('"n":2', '"n":02')],
    ['a padding with an escape', JSON.stringify(lesson).replace('abc', String.raw`a\\`)],
    ['a padding that ends early', JSON.stringify(lesson).replace('abc', '","more":"')],
    ['a padding that never ends', JSON.stringify(lesson).replace('abc"', 'abc')],
  ])('but not with %s', (_, data) => {
    const got: string[] = [];
    expect(taught(lesson, 'first', got, changing).apply(data)).toBe(false);
    expect(got).toEqual([]);
  });

  it('is handled only as parsing would handle it', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.nat(),
      fc.constantFrom('","pad":"', null, -1),
    );
    const event = fc.record(
      { n: value, d: fc.record({ t: fc.string({ maxLength: 3 }), n: value }), pad: value, x: value },
      { requiredKeys: ['d'] },
    );
    const withoutChanging = ({
      n: _n,
      pad: _pad,
      ...rest
    }: {
      n?: unknown;
      pad?: unknown;
      d: { t: string };
    }): object => ({
      ...rest,
      d: { t: rest.d.t },
    });
    fc.assert(
      fc.property(event, event, (first, next) => {
        const got: string[] = [];
        const template = taught(first, first.d.t, got, changing);
        if (!template.apply(JSON.stringify(next))) return;
        expect(got).toEqual([next.d.t]);
        expect(withoutChanging({ ...next, d: { t: '' } })).toEqual(withoutChanging({ ...first, d: { t: '' } }));
        expect(Object.keys(next)).toEqual(Object.keys(first));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('any other event', () => {
  it.each([
    ['has another beginning', '{"id":2,"d":{"t":"next"}}'],
    ['has another end', '{"id":1,"d":{"t":"next"},"more":1}'],
    ['ends its piece early', '{"id":1,"d":{"t":"next","t":"hidden"}}'],
    ['has a broken escape', '{"id":1,"d":{"t":"a\\"}}'],
    ['is shorter than the form', '{"id":1,"d":{"t":"}}'],
  ])('that %s is left to be parsed', (_, data) => {
    const got: string[] = [];
    expect(taught({ id: 1, d: { t: 'first' } }, 'first', got).apply(data)).toBe(false);
    expect(got).toEqual([]);
  });

  it('is handled only as parsing would handle it', () => {
    const key = fc.constantFrom('d', 't', 'x', 'finish');
    const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.constantFrom('first', '"', '\\', '","t":"'));
    const event = fc.record(
      { id: fc.nat(1), d: fc.dictionary(key, value, { maxKeys: 3 }), x: value },
      { requiredKeys: ['d'] },
    );
    fc.assert(
      fc.property(event, event, (lesson, next) => {
        const got: string[] = [];
        const template = createDeltaTemplate();
        const piece = lesson.d['t'];
        if (piece === undefined) return;
        template.learn(JSON.stringify(lesson), piece, read, (text) => got.push(text));
        if (!template.apply(JSON.stringify(next))) return;
        // Taken for the same form: then it is the lesson with that piece in it, and nothing else.
        expect(next).toEqual({ ...lesson, d: { ...lesson.d, t: got[0] } });
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a form', () => {
  it('is not learned when the piece stands elsewhere in the event', () => {
    const got: string[] = [];
    // The last "same" is not the piece.
    const template = taught({ d: { t: 'same' }, z: 'same' }, 'same', got);
    expect(template.apply('{"d":{"t":"same"},"z":"next"}')).toBe(false);
  });

  it('is forgotten when its block is over', () => {
    const got: string[] = [];
    const template = taught({ d: { t: 'first' } }, 'first', got);
    template.forget();
    expect(template.apply('{"d":{"t":"next"}}')).toBe(false);
  });

  it('is looked for a limited number of times', () => {
    const template = createDeltaTemplate();
    let lessons = 0;
    while (template.isLearning() && lessons < 1000) {
      template.learn(`{"n":${lessons++},"d":{"t":"x"}}`, 'x', read, () => undefined);
    }
    expect(lessons).toBeLessThan(100);
  });
});

describe('a response', () => {
  it('is parsed event by event while it may be a short one', () => {
    const template = createDeltaTemplate();
    expect(template.isLearning()).toBe(false);
    for (let event = 0; event < 20; event++) expect(template.apply('{"d":{"t":"x"}}')).toBe(false);
    expect(template.isLearning()).toBe(true);
  });
});
