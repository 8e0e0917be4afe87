import fc from 'fast-check';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readFileTool } from '../file-tools.ts';
import { call, workspace } from '../test-support/workspace.ts';
import { lineWindow } from './line-window.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

describe('text', () => {
  test('is shown with a header and right-aligned line numbers', async () => {
    const { root } = await workspace({ 'src/a.txt': 'one\ntwo\n\nfour' });
    const answer = await call(readFileTool({ root }), { path: 'src/a.txt' });
    expect(answer.text).toBe('src/a.txt: 4 lines, 13 bytes\n   1\tone\n   2\ttwo\n   3\t\n   4\tfour');
    expect(answer.details).toEqual({
      path: 'src/a.txt',
      bytes: 13,
      totalLines: 4,
      firstLine: 1,
      lastLine: 4,
      truncated: false,
    });
  });

  test('is shown in part by offset and limit', async () => {
    const { root } = await workspace({ a: Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('') });
    const answer = await call(readFileTool({ root }), { path: 'a', offset: 10, limit: 2 });
    expect(answer.text).toBe(
      'a: 30 lines, 231 bytes, lines 10 to 11 shown\n  10\tline 10\n  11\tline 11\n[more lines follow: continue with offset 12]',
    );
    expect(answer.details).toMatchObject({ totalLines: 30, firstLine: 10, lastLine: 11, truncated: true });
    const end = await call(readFileTool({ root }), { path: 'a', offset: 30, limit: 5 });
    expect(end.details).toMatchObject({ firstLine: 30, lastLine: 30, truncated: false });
  });

  test('an offset past the end is an error that says how long the file is', async () => {
    const { root } = await workspace({ a: 'one\ntwo\n' });
    const answer = await call(readFileTool({ root }), { path: 'a', offset: 3 });
    expect(answer).toMatchObject({ isError: true, text: 'a has 2 lines; offset 3 is past its end.' });
  });

  test('an empty file says so', async () => {
    const { root } = await workspace({ a: '' });
    expect((await call(readFileTool({ root }), { path: 'a' })).text).toBe('a: 0 lines, 0 bytes\n[the file is empty]');
  });

  test('more than the limit is cut between lines, and reading on gives every line once', async () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `line number ${index + 1}`);
    const { root } = await workspace({ a: lines.join('\n') });
    const tool = readFileTool({ root, maxCharacters: 4000 });
    const seen: string[] = [];
    for (let offset = 1, more = true; more;) {
      const { text, details } = await call(tool, { path: 'a', offset });
      expect(text.length).toBeLessThan(8000);
      seen.push(...text.split('\n').flatMap((line) => /^ *\d+\t(.*)$/.exec(line)?.[1] ?? []));
      more = details['truncated'] === true;
      offset = Number(details['lastLine']) + 1;
    }
    expect(seen).toEqual(lines);
  });

  test('a page is no longer than what a model is shown of a result, whatever bytes its characters take', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => (index % 2 === 0 ? '漢字'.repeat(20) : `line ${index}`));
    const { root } = await workspace({ a: lines.join('\n') });
    const tool = readFileTool({ root });
    const seen: string[] = [];
    for (let offset = 1, more = true; more;) {
      const { text, details } = await call(tool, { path: 'a', offset }, { maxResultTokens: 5000 });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20_000);
      seen.push(...text.split('\n').flatMap((line) => /^ *\d+\t(.*)$/.exec(line)?.[1] ?? []));
      more = details['truncated'] === true;
      offset = Number(details['lastLine']) + 1;
      expect(text.includes(`continue with offset ${offset}`)).toBe(more);
    }
    expect(seen).toEqual(lines);
  });

  test('long lines are cut with a note', async () => {
    const { root } = await workspace({ a: `${'x'.repeat(5000)}\nshort\n` });
    const { text } = await call(readFileTool({ root }), { path: 'a' });
    expect(text.split('\n')[1]).toBe(`   1\t${'x'.repeat(2000)}… [line cut: 5000 characters]`);
    expect(text.split('\n')[2]).toBe('   2\tshort');
  });

  test('control characters and lone carriage returns are made visible, CRLF is not', async () => {
    const { root } = await workspace({ a: 'a\u001b[31mred\r\nb\rc\r\n' });
    const { text } = await call(readFileTool({ root }), { path: 'a' });
    expect(text).toBe('a: 2 lines, 16 bytes\n   1\ta␛[31mred\n   2\tb␍c');
  });

  test.each([
    ['UTF-8 with a mark', Buffer.from('\ufeffhé\n', 'utf8'), 'hé', ''],
    ['UTF-16LE', Buffer.from('\ufeffhé\n', 'utf16le'), 'hé', 'UTF-16LE'],
    ['UTF-16BE', Buffer.from('\ufeffhé\n', 'utf16le').swap16(), 'hé', 'UTF-16BE'],
    ['Latin-1', Buffer.from('hé\n', 'latin1'), 'hé', 'Latin-1'],
  ])('%s is decoded, and named when it is not UTF-8', async (_name, bytes, line, note) => {
    const { root } = await workspace({ a: bytes });
    const { text } = await call(readFileTool({ root }), { path: 'a' });
    expect(text.split('\n')[1]).toBe(`   1\t${line}`);
    expect(text.split('\n')[0]).toContain(note);
  });

  test('a file of 300 MB, mostly one line, is read in part in little memory', { timeout: 60_000 }, async () => {
    const { root, put } = await workspace();
    const path = await put('root/big.txt', 'first\n');
    const handle = await open(path, 'a');
    const block = Buffer.alloc(1024 * 1024, 'x');
    for (let written = 0; written < 300; written += 1) await handle.write(block);
    await handle.write('\nlast\n');
    await handle.close();
    const before = process.memoryUsage.rss();
    const answer = await call(readFileTool({ root }), { path: 'big.txt', offset: 2 });
    expect(answer.details).toMatchObject({ totalLines: 3, lastLine: 3, truncated: false });
    expect(answer.text).toContain(`[line cut: ${300 * 1024 * 1024} characters]\n   3\tlast`);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024);
  });

  test('reading stops when the call is aborted', async () => {
    const { root } = await workspace({ a: 'x\n' });
    const answer = await call(readFileTool({ root }), { path: 'a' }, { signal: AbortSignal.abort() });
    expect(answer).toMatchObject({ isError: true, details: { problem: 'aborted' } });
  });
});

describe('what is not text', () => {
  test.each([
    ['image/png', png],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image/gif', Buffer.from('GIF89a rest')],
    ['image/webp', Buffer.from('RIFF\u0001\u0002\u0003\u0004WEBPVP8 ')],
  ])('%s becomes an image block, whatever its name', async (mediaType, bytes) => {
    const { root } = await workspace({ 'picture.txt': bytes });
    const { content, details } = await call(readFileTool({ root }), { path: 'picture.txt' });
    expect(content).toContainEqual({ type: 'image', mediaType, data: bytes.toString('base64') });
    expect(details).toMatchObject({ path: 'picture.txt', bytes: bytes.length, mediaType });
  });

  test('an image over the limit is refused', async () => {
    const { root } = await workspace({ a: Buffer.concat([png, Buffer.alloc(100)]) });
    const answer = await call(readFileTool({ root, maxImageBytes: 50 }), { path: 'a' });
    expect(answer).toMatchObject({ isError: true, text: 'a is an image of 116 bytes; the limit is 50.' });
  });

  test('a binary file is refused as such', async () => {
    const random = Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7919) % 256));
    const { root } = await workspace({ nul: 'a\0b', random, pdf: Buffer.from('%PDF-1.7\n\0\u0001') });
    for (const path of ['nul', 'random', 'pdf']) {
      const answer = await call(readFileTool({ root }), { path });
      expect(answer).toMatchObject({ isError: true, details: { problem: 'binary' } });
    }
  });

  test('a folder is refused with a pointer to list_files', async () => {
    const { root } = await workspace({ 'src/a': 'a' });
    for (const path of ['src', '.', 'src/']) {
      const answer = await call(readFileTool({ root }), { path });
      expect(answer).toMatchObject({ isError: true, details: { problem: 'is_directory' } });
      expect(answer.text).toContain('list_files');
    }
  });

  test('a missing file is answered with near names', async () => {
    const { root } = await workspace({ 'src/configuration.ts': '', 'src/other.ts': '', 'docs/readme.md': '' });
    const tool = readFileTool({ root });
    expect((await call(tool, { path: 'src/Configuraton.ts' })).text).toBe(
      'src/Configuraton.ts does not exist. Near names: src/configuration.ts.',
    );
    expect((await call(tool, { path: 'doc/readme.md' })).text).toBe(
      'doc/readme.md does not exist: there is no folder doc. Near names: docs.',
    );
    expect((await call(tool, { path: 'src/zzz' })).text).toBe(
      'src/zzz does not exist. Use list_files to see what is in src.',
    );
  });

  test('a name in another Unicode form is pointed out', async () => {
    const { root } = await workspace({ 'cafe\u0301.txt': '' });
    const answer = await call(readFileTool({ root }), { path: 'caf\u00e9.txt' });
    expect(answer.text).toContain('another Unicode form');
  });

  test('a file below a file is refused', async () => {
    const { root } = await workspace({ a: '' });
    await mkdir(join(root, 'b'));
    expect((await call(readFileTool({ root }), { path: 'a/b' })).details['problem']).toBe('not_directory');
  });
});

test('a window on lines is the same however the text is cut into pieces', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r', '\r\n', 'é', '😀'), maxLength: 60 });
  const window = fc.record({
    offset: fc.integer({ min: 1, max: 8 }),
    limit: fc.integer({ min: 1, max: 8 }),
    maxCharacters: fc.integer({ min: 0, max: 40 }),
    maxBytes: fc.integer({ min: 0, max: 100 }),
    maxLineCharacters: fc.integer({ min: 1, max: 6 }),
  });
  fc.assert(
    fc.property(text, window, fc.array(fc.nat(60)), (whole, options, cuts) => {
      const run = (pieces: readonly string[]): unknown => {
        const lines = lineWindow(options);
        for (const piece of pieces) lines.push(piece);
        lines.end();
        return { lines: lines.lines, total: lines.total, full: lines.full };
      };
      const places = [0, ...cuts.filter((cut) => cut < whole.length).toSorted((a, b) => a - b), whole.length];
      const pieces = places.slice(1).map((end, index) => whole.slice(places[index], end));
      const expected = run([whole]);
      expect(run(pieces)).toEqual(expected);
      const all = whole.split('\n');
      expect(expected).toMatchObject({ total: all.length - (all.at(-1) === '' ? 1 : 0) });
    }),
  );
});
