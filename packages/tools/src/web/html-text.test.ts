import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { htmlToText } from './html-text.ts';

const base = new URL('https://example.com/docs/page');
const textOf = (html: string): string => htmlToText(html, base).text;

describe('a page', () => {
  it('is read as Markdown', () => {
    const html = `<!doctype html><html><head><title> A &amp; B </title><style>p { color: red }</style></head>
      <body><h1>Head</h1><p>Some <b>words</b>,
      in two lines.<br>Third.</p><ul><li>one<li>two <ol><li>deep</ol></ul>
      <table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>
      <pre>  if (a &lt; b)
    c();</pre><p>See <a href="../other?a=1&amp;b=2">the other page</a><a href="/x"></a>.</p>
      <img src="a.png" alt="A cat"><script>alert("<p>no</p>")</script></body></html>`;
    expect(htmlToText(html, base).title).toBe('A & B');
    expect(textOf(html)).toBe(
      [
        '# Head',
        '',
        'Some words, in two lines.',
        'Third.',
        '',
        '- one',
        '- two',
        '  1. deep',
        '',
        'a | b',
        '1 | 2',
        '',
        '```',
        '  if (a < b)',
        '    c();',
        '```',
        '',
        'See [the other page](https://example.com/other?a=1&b=2).',
        '',
        '[image: A cat]',
      ].join('\n'),
    );
  });

  it.each([
    ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
    ['<p title="a > b">x</p>', 'x'],
    ['a<!-- <b>no</b> -->b<!-- never closed', 'ab'],
    ['a<script>never closed <p>b', 'a'],
    ['<SCRIPT>a</ScRiPt >b', 'b'],
    ['&lt;b&gt; &#65;&#x42; &#xD800; &nope; &#0;', '<b> AB \ufffd &nope; \ufffd'],
    ['<a href="javascript:alert(1)">x</a> <a href="#top">y</a>', 'x y'],
    ['<p>a</p><p></p><p></p><p>b</p>', 'a\n\nb'],
    ['<a href="/a">never closed', '[never closed](https://example.com/a)'],
    ['<noscript><img alt="tracker"></noscript>ok', 'ok'],
    ['', ''],
  ])('%j reads %j', (html, text) => {
    expect(textOf(html)).toBe(text);
  });

  it('of any text whatever has a text, and no tag of a script in it', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '</',
      '<p',
      '<a href="',
      '"',
      "'",
      '<script>',
      '</script>',
      '<!--',
      '-->',
      '&',
      '&#1;',
      'a',
      ' ',
      '\n',
      '<li>',
      '<ol>',
      '</ol>',
      '<pre>',
      '</pre>',
      '=',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(typeof textOf(pieces.join(''))).toBe('string');
      }),
      { numRuns: 300 },
    );
  });

  it.each(['<', '<a href="', '<script', '<!--', '<a ', '</', '<ul><li>', '<pre>', '&#1;', ' '])(
    'of a million times %j is read in one go',
    (piece) => {
      expect(textOf(piece.repeat(200_000)).length).toBeLessThan(20_000_000);
    },
    10_000,
  );
});
