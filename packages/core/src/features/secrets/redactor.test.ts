import { describe, expect, it } from 'vitest';
import fc from 'fast-check';

import { createRedactor } from './redactor.ts';

const KEY = 'k3y.with.dots+and/more';
const redactor = createRedactor({ KEY, OTHER: 'k3y.with.dots+and/more-and-more', QUOTED: 'a "quoted"\nsecret' });

describe('a redactor', () => {
  it('puts the same placeholder in the place of a secret, wherever it stands', () => {
    expect(redactor.redact(`${KEY}, x${KEY}y`)).toBe('[secret:KEY], x[secret:KEY]y');
    expect(redactor.redact('a "quoted"\nsecret')).toBe('[secret:QUOTED]');
  });

  it('takes dots and other signs for what they are', () => {
    expect(redactor.redact('k3yXwithXdots+and/more')).toBe('k3yXwithXdots+and/more');
  });

  it('knows it in JSON, in a URL and in base64', () => {
    for (const form of [JSON.stringify('a "quoted"\nsecret').slice(1, -1), encodeURIComponent('a "quoted"\nsecret')])
      expect(redactor.redact(`<${form}>`)).toBe('<[secret:QUOTED]>');
    expect(redactor.redact(`Basic ${Buffer.from(KEY).toString('base64')}`)).toMatch(/^Basic \[secret:KEY\]=*$/);
    expect(redactor.redact(Buffer.from(KEY).toString('base64url'))).toBe('[secret:KEY]');
  });

  it('knows it amid base64 and hexadecimal, whatever is around it', () => {
    const piece = fc.string({ unit: 'binary-ascii', maxLength: 20 });
    fc.assert(
      fc.property(piece, piece, fc.constantFrom('base64', 'base64url', 'hex' as const), (before, after, encoding) => {
        const text = Buffer.from(before + KEY + after).toString(encoding);
        const shown = redactor.redact(`a ${text} b`);
        expect(shown).toMatch(/^a [\w+/-]*\[secret:(?:KEY|OTHER)\][\w+/=-]* b$/);
        expect(Buffer.from(shown.replaceAll(/\[secret:\w+\]/g, ''), 'base64').toString()).not.toContain(
          KEY.slice(2, -2),
        );
      }),
    );
    expect(redactor.redact(encodeURIComponent(KEY).toLowerCase())).toBe('[secret:KEY]');
  });

  it('takes the longer one where one secret begins another', () => {
    expect(redactor.redact(`${KEY}-and-more`)).toBe('[secret:OTHER]');
    expect(redactor.redact(`${KEY}-and-`)).toBe('[secret:KEY]-and-');
  });

  it('goes through JSON, keys too, and gives back the same value where there is nothing to redact', () => {
    const clean = { a: ['b', 1, null], c: { d: true } };
    expect(redactor.redactJson(clean)).toBe(clean);
    expect(redactor.redactJson({ a: [`x${KEY}`], [KEY]: { b: KEY } })).toEqual({
      a: ['x[secret:KEY]'],
      '[secret:KEY]': { b: '[secret:KEY]' },
    });
  });

  it('puts back those that it is told to, and no others', () => {
    const text = '[secret:KEY] [secret:OTHER] [secret:NONE]';
    expect(redactor.reveal(text, ['KEY', 'NONE'])).toBe(`${KEY} [secret:OTHER] [secret:NONE]`);
    expect(redactor.reveal(text, [])).toBe(text);
  });

  it.each([{ SHORT: 'seven77' }, { '': 'long enough' }, { 'a]b': 'long enough' }])(
    'refuses %j without saying the value',
    (secrets) => {
      const thrown = ((): unknown => {
        try {
          return createRedactor(secrets);
        } catch (error) {
          return error;
        }
      })();
      expect(thrown).toMatchObject({ code: 'invalid_definition' });
      expect(String(thrown)).not.toMatch(/seven77|long enough/);
    },
  );
});

describe('a stream', () => {
  it('R9: says, however the text is cut, what the whole would say, and never lets a part of a secret out', () => {
    const secrets = ['abcabcabc', 'abcabcabd', 'bcabcabc', KEY];
    const own = createRedactor(Object.fromEntries(secrets.map((value, index) => [`S${index}`, value])));
    const piece = fc.oneof(
      fc.constantFrom('a', 'b', 'c', 'd', 'abc', '.', 'k3y'),
      fc.constantFrom(...secrets),
      fc.constantFrom(...secrets.map((value) => value.slice(0, 7))),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const stream = own.stream();
        const out = pieces.map((one) => stream.push(one));
        const text = out.join('') + stream.end();
        for (const secret of secrets) expect(text).not.toContain(secret);
        expect(text).toBe(own.redact(pieces.join('')));
      }),
      { numRuns: 500 },
    );
  });

  it('holds back no more than may be a secret', () => {
    const stream = redactor.stream();
    expect(stream.push('Use k3y.with')).toBe('Use ');
    expect(stream.push('out')).toBe('k3y.without');
    expect(stream.push(KEY.slice(0, 10))).toBe('');
    expect(stream.end()).toBe(KEY.slice(0, 10));
    expect(stream.push('next')).toBe('next');
  });
});
