import { describe, expect, it } from 'vitest';
import fc from 'fast-check';

import { tellingWords, wordsOf } from './words.ts';

describe('wordsOf', () => {
  it('is letters and digits in lower case, in any script', () => {
    expect(wordsOf('Deploy v2.1 of foo_bar.ts (now)!')).toEqual(['deploy', 'v2', '1', 'of', 'foo', 'bar', 'ts', 'now']);
    expect(wordsOf('东京的数据库').length).toBeGreaterThan(1);
    expect(wordsOf('ﬁne ΑΘΗΝΑ')).toEqual(['fine', 'αθηνα']);
    expect(wordsOf(' ?!…🙂 ')).toEqual([]);
  });

  it('never has anything in a word but letters, digits and their marks', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const word of wordsOf(text)) expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
      }),
    );
  });
});

describe('tellingWords', () => {
  it('leaves out what is in every text, and says nothing twice', () => {
    expect(tellingWords('When do we deploy the parser, and who is to deploy it?', 10)).toEqual(['deploy', 'parser']);
  });

  it('is no more than so many', () => {
    expect(tellingWords('alpha beta gamma delta', 2)).toEqual(['alpha', 'beta']);
  });
});
