import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '@treadle/core';
import { elementScanner } from './scanner.ts';

type Seen =
  | { readonly text: string }
  | { readonly named: string }
  | { readonly args: string }
  | { readonly call: string; readonly server: string | undefined; readonly arguments: unknown }
  | { readonly failed: string; readonly raw: string };

const SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    content: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: ['number', 'null'] },
    on: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { type: 'number' } },
    where: {
      type: 'object',
      properties: { city: { type: 'string' }, zip: { type: 'integer' }, near: { $ref: '#/$defs/near' } },
    },
    edits: {
      type: 'array',
      items: { type: 'object', properties: { from: { type: 'string' }, to: { type: 'string' } } },
    },
  },
  $defs: { near: { type: 'boolean' } },
};

/** What comes of a reply in these pieces; texts and argument pieces that follow each other are joined. */
function scan(pieces: readonly string[], cut = false): Seen[] {
  const seen: Seen[] = [];
  const scanner = elementScanner(
    {
      text: (text) => {
        const last = seen.at(-1);
        if (last && 'text' in last) seen[seen.length - 1] = { text: last.text + text };
        else seen.push({ text });
      },
      named: ({ server, tool }) => seen.push({ named: `${server}/${tool}` }),
      argumentsPiece: (args) => {
        const last = seen.at(-1);
        if (last && 'args' in last) seen[seen.length - 1] = { args: last.args + args };
        else seen.push({ args });
      },
      call: ({ names, argumentsText }) =>
        seen.push({
          call: names.tool ?? '?',
          server: names.server,
          arguments: argumentsText === '' ? '' : (JSON.parse(argumentsText) as unknown),
        }),
      failed: ({ problem, raw }) => seen.push({ failed: `${problem.reason}: ${problem.message}`, raw }),
    },
    () => SCHEMA,
  );
  for (const piece of pieces) scanner.push(piece);
  scanner.end(cut);
  return seen;
}

const calls = (text: string): Seen[] => scan([text]).filter((one) => 'call' in one || 'failed' in one);

/** The arguments of the one call in an XML body. */
const xmlArguments = (inner: string): unknown => {
  const [one] = calls(
    `<tool><server_name>local</server_name><tool_name>act</tool_name><arguments>${inner}</arguments></tool>`,
  );
  return one && 'arguments' in one ? one.arguments : one;
};

const json = (args: string): string => `<tool>{"server_name":"local","tool_name":"act","arguments":${args}}</tool>`;

const REPLIES: Readonly<Record<string, string>> = {
  'a JSON call': `I look. 🙂\n\n${json('{"path":"a</tool>b 🙂 \\"x\\" \\\\","n":[1,{"b":"}"}]}')}\n and now?`,
  'two JSON calls with text between': `${json('{}')}\nThen\n${json('{"count": 1 }')}`,
  'fields in another order':
    '<tool> { "arguments" : {"a":1} , "tool_name" : "act", "x": [1,"]"], "y": 1.5e3, "server_name":"local" } </tool>',
  'an XML call':
    'Now. <tool>\n<server_name>local</server_name>\n<tool_name>act</tool_name>\n<arguments>\n<path>a &amp; b & c &#x1F642; &lt;i&gt;</path><content><![CDATA[if (a < b && c]]]]><![CDATA[> d) </content>]]></content><count> 3 </count><tags>x</tags><on>true</on><tags>y</tags></arguments>\n</tool> Done.',
  'a broken JSON call, then a good one': `<tool>{"server_name": local}</tool>${json('{}')}`,
  'a string that swallows the end': `<tool>{"server_name":"local</tool> and ${json('{}')}`,
  'a broken XML call': '<tool><server_name>local</tool_name></tool> after',
  'an end that never comes': 'x <tool>{"server_name":"local","tool_name":"act","arguments":{"path":"a',
  'nothing but text': 'a < b, <to, <tool, <tools> and </tool>  ',
};

describe('elementScanner', () => {
  it('gives text, then the name as soon as it is known, then the arguments as they come, then the call', () => {
    expect(scan([`Look.\n${json('{"path":"a.txt"}')}`])).toEqual([
      { text: 'Look.' },
      { named: 'local/act' },
      { args: '{"path":"a.txt"}' },
      { call: 'act', server: 'local', arguments: { path: 'a.txt' } },
    ]);
  });

  it('names the tool and streams arguments before the element has ended', () => {
    expect(scan(['<tool>{"server_name":"local","tool_name":"act","arguments":{"path":"a'], true).slice(0, 2)).toEqual([
      { named: 'local/act' },
      { args: '{"path":"a' },
    ]);
    const xml = '<tool><server_name>local</server_name><tool_name>act</tool_name><arguments><content>one\ntw';
    expect(scan([xml], true).slice(0, 2)).toEqual([{ named: 'local/act' }, { args: '{"content":"one\\ntw' }]);
  });

  it.each(Object.entries(REPLIES))('reads %s alike however it is cut', (_name, reply) => {
    const whole = scan([reply]);
    const characters = Array.from({ length: reply.length }, (_, index) => reply[index] ?? '');
    expect(scan(characters)).toEqual(whole);
    for (let at = 1; at < reply.length; at += 1) {
      expect(scan([reply.slice(0, at), reply.slice(at)]), `cut at ${at}`).toEqual(whole);
    }
  });

  it('reads any arguments back that JSON can write', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.nat(), { maxLength: 5 }), (args, cuts) => {
        const reply = json(JSON.stringify(args));
        const places = [...cuts.map((cut) => cut % reply.length), 0, reply.length].sort((a, b) => a - b);
        const pieces = places.slice(1).map((place, index) => reply.slice(places[index], place));
        const [call] = scan(pieces).filter((one) => 'call' in one);
        expect(call).toEqual({
          call: 'act',
          server: 'local',
          arguments: JSON.parse(JSON.stringify(args)) as unknown,
        });
      }),
    );
  });

  it('reads any text back that was escaped as XML', () => {
    const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (path, city) => {
        expect(
          xmlArguments(`<path>${escape(path)}</path><where><city>${escape(city)}</city><zip>1</zip></where>`),
        ).toEqual({ path, where: { city, zip: 1 } });
      }),
    );
  });

  it('lets the schema say what XML can not: numbers, lists, objects', () => {
    expect(
      xmlArguments(
        '<count>3</count><ratio>null</ratio><on>false</on><tags>one</tags><numbers>[1, 2]</numbers>' +
          '<where><city>Oslo</city><zip>0150</zip><near>true</near></where>' +
          '<edits><edit><from>a</from><to><b>bold</b></to></edit><edit><from>c</from><to/></edit></edits>',
      ),
    ).toEqual({
      count: 3,
      ratio: null,
      on: false,
      tags: ['one'],
      numbers: [1, 2],
      // 0150 is no JSON number: it stays what it was, for the tool's check to refuse.
      where: { city: 'Oslo', zip: '0150', near: true },
      edits: [
        { from: 'a', to: '<b>bold</b>' },
        { from: 'c', to: '' },
      ],
    });
    expect(xmlArguments('<tags><item>a</item><item>b</item></tags>')).toEqual({ tags: ['a', 'b'] });
    expect(xmlArguments('<tags></tags>')).toEqual({ tags: [] });
    expect(xmlArguments('')).toEqual({});
  });

  it('takes markup inside of text for text, up to the end of the element it is in', () => {
    expect(xmlArguments('<content><html>a < b &amp; </conten <![CDATA[<x>]]></content>')).toEqual({
      content: '<html>a < b & </conten <x>',
    });
  });

  it('takes an ampersand that was not escaped as if it had been', () => {
    expect(xmlArguments('<path>a & b &c; &; &amp;amp; &#0; &#xD800; &#65;</path>')).toEqual({
      path: 'a & b &c; &; &amp; &#0; &#xD800; A',
    });
  });

  it('T8: keys of prototypes are keys like any other', () => {
    const args = xmlArguments(
      '<__proto__>x</__proto__><where><__proto__>y</__proto__></where><constructor>z</constructor>',
    );
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    expect(JSON.stringify(args)).toBe('{"__proto__":"x","where":{"__proto__":"y"},"constructor":"z"}');
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('reads arguments that come before the names', () => {
    const text =
      '<tool><arguments><count>3</count></arguments><tool_name>act</tool_name><server_name>local</server_name></tool>';
    expect(scan([text])).toEqual([
      { named: 'local/act' },
      { args: '{"count":3}' },
      { call: 'act', server: 'local', arguments: { count: 3 } },
    ]);
  });

  it('leaves a missing server or tool to the caller', () => {
    expect(calls('<tool>{"tool_name":"act"}</tool>')).toEqual([{ call: 'act', server: undefined, arguments: '' }]);
    expect(calls('<tool>{"server_name":"local"}</tool>')).toEqual([{ call: '?', server: 'local', arguments: '' }]);
    expect(calls('<tool></tool>')).toEqual([{ call: '?', server: undefined, arguments: '' }]);
  });

  it.each(['', 'null', '""'])('P11: %j for arguments is none', (written) => {
    const text = `<tool>{"server_name":"local","tool_name":"act"${written === '' ? '' : `,"arguments":${written}`}}</tool>`;
    expect(calls(text)).toEqual([{ call: 'act', server: 'local', arguments: '' }]);
  });

  it.each([
    ['{"server_name": local}', 'invalid_json'],
    ['{"a":1,}', 'invalid_json'],
    ['{"a":1} and more', 'invalid_json'],
    ['{"a":1', 'invalid_json'],
    ['{"arguments":{"a":}}', 'invalid_json'],
    ['{"tool_name":"a\nb"}', 'invalid_json'],
    ['{"tool_name":"a","tool_name":"b"}', 'invalid_json'],
    ['[1]', 'invalid_json'],
    ['nonsense', 'invalid_json'],
    ['<a>', 'invalid_xml'],
    ['<tool_name>a', 'invalid_xml'],
    ['<tool_name>a</tool_name><tool_name>b</tool_name>', 'invalid_xml'],
    ['<tool_name x="y">a</tool_name>', 'invalid_xml'],
    ['words <tool_name>a</tool_name>', 'invalid_json'],
    ['<tool_name>a</tool_name> words', 'invalid_xml'],
    ['<arguments><a><b></a></b></arguments>', 'invalid_xml'],
    ['<arguments><path>a</path><path>b</path></arguments>', 'invalid_xml'],
    ['<arguments>words</arguments>', 'invalid_xml'],
    [`<arguments>${'<a>'.repeat(200)}</arguments>`, 'invalid_xml'],
  ])('P5: says what is wrong with %s', (inner, reason) => {
    const xml = inner.startsWith('<arguments>')
      ? `<server_name>local</server_name><tool_name>act</tool_name>${inner}`
      : inner;
    const [failed, ...more] = calls(`<tool>${xml}</tool>`);
    expect(failed).toMatchObject({ failed: expect.stringMatching(new RegExp(`^${reason}: .`)) as string });
    expect(failed).toMatchObject({ raw: `<tool>${xml}</tool>` });
    expect(more).toEqual([]);
  });

  it('goes on behind the first </tool> of what is malformed', () => {
    expect(scan([`<tool>{"server_name":"local</tool> then ${json('{}')}`])).toMatchObject([
      { failed: expect.stringMatching(/^invalid_json/) as string, raw: '<tool>{"server_name":"local</tool>' },
      { text: 'then' },
      { named: 'local/act' },
      { args: '{}' },
      { call: 'act' },
    ]);
  });

  it('takes a whole object for a call though its end tag is missing, as behind a stop sequence, unless it was cut', () => {
    const text = json('{"path":"a"}').slice(0, -'</tool>'.length);
    expect(scan([text]).at(-1)).toEqual({ call: 'act', server: 'local', arguments: { path: 'a' } });
    expect(scan([text], true).at(-1)).toMatchObject({ failed: expect.stringMatching(/^cut_off/) as string });
  });

  it('refuses an element of more than 10 MB and keeps no more of it', () => {
    const piece = 'x'.repeat(1024 * 1024);
    const seen = scan(['<tool>{"server_name":"', ...Array.from({ length: 14 }, () => piece)]);
    expect(seen).toMatchObject([{ failed: 'invalid_json: the call is larger than 10 MB' }]);
    const [only] = seen;
    expect(only && 'raw' in only ? only.raw.length : 0).toBeLessThanOrEqual(10 * 1024 * 1024 + 6);
  });

  it('reads a thousand broken calls in one reply without reading each of them a thousand times', () => {
    const seen = scan(['<tool>{"a":"</tool>'.repeat(20_000)]);
    expect(seen.filter((one) => 'failed' in one)).toHaveLength(32);
    expect(seen.at(-1)).toHaveProperty('text');
  });
});
