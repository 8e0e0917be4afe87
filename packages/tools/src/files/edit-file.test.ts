import fc from 'fast-check';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { editFileTool } from '../file-tools.ts';
import { call, workspace, type Answer } from '../test-support/workspace.ts';
import { replaceOnce } from './replace-text.ts';

async function edit(
  content: string | Uint8Array,
  oldText: string,
  newText: string,
): Promise<Answer & { readonly after: Buffer }> {
  const { root } = await workspace({ 'file.txt': content });
  const args = { path: 'file.txt', old_text: oldText, new_text: newText };
  const answer = await call(editFileTool({ root }), args, { knows: root });
  return { ...answer, after: await readFile(join(root, 'file.txt')) };
}

describe('a unique match', () => {
  test('is replaced, and a diff shows it', async () => {
    const { after, text, details } = await edit('one\ntwo\nthree\nfour\nfive\nsix\n', 'four\n', 'FOUR\nand more\n');
    expect(after.toString()).toBe('one\ntwo\nthree\nFOUR\nand more\nfive\nsix\n');
    const diff =
      '--- file.txt\n+++ file.txt\n@@ -1,6 +1,7 @@\n one\n two\n three\n-four\n+FOUR\n+and more\n five\n six';
    expect(text).toBe(`Edited file.txt at line 4.\n${diff}`);
    expect(details).toEqual({ path: 'file.txt', bytes: 37, firstChangedLine: 4, addedLines: 2, removedLines: 1, diff });
  });

  test('may be deleted', async () => {
    expect((await edit('a b c', ' b', '')).after.toString()).toBe('a c');
  });

  test.each([
    ['CRLF', 'one\r\ntwo\r\nthree\r\n', 'one\ntwo', 'ONE\nTWO\nmore', 'ONE\r\nTWO\r\nmore\r\nthree\r\n'],
    ['CRLF, given with CRLF', 'one\r\ntwo\r\n', 'one\r\ntwo', 'a\r\nb', 'a\r\nb\r\n'],
    ['LF, given with CRLF', 'one\ntwo\n', 'one\r\ntwo', 'a\r\nb', 'a\nb\n'],
    ['CRLF, one line made two', 'one\r\ntwo\r\n', 'two', 'two\n2', 'one\r\ntwo\r\n2\r\n'],
    ['mixed, elsewhere', 'a\r\nb\nc\r\nd\n', 'c', 'C', 'a\r\nb\nC\r\nd\n'],
    [
      'mixed, inside an unchanged part of the match',
      'a\r\nb\nc\r\nd\n',
      'a\nb\nc\nd',
      'a\nb\nc\nD',
      'a\r\nb\nc\r\nD\n',
    ],
    ['no final newline', 'a\nb', 'b', 'B', 'a\nB'],
    ['a final newline', 'a\nb\n', 'b', 'B', 'a\nB\n'],
    ['a lone carriage return', 'a\rb\nc\n', 'c', 'C', 'a\rb\nC\n'],
  ])('T22: keeps line ends: %s', async (_name, before, oldText, newText, after) => {
    const answer = await edit(before, oldText, newText);
    expect(answer).toMatchObject({ isError: false });
    expect(answer.after.toString()).toBe(after);
  });

  test('T22: keeps the byte order mark', async () => {
    const { after } = await edit('\ufefffirst\nsecond\n', 'first', 'FIRST');
    expect(after.toString()).toBe('\ufeffFIRST\nsecond\n');
  });

  test('T22: keeps the mode', async () => {
    const { root, put } = await workspace();
    await put('root/run.sh', 'echo a\n', 0o754);
    await call(editFileTool({ root }), { path: 'run.sh', old_text: 'a', new_text: 'b' }, { knows: root });
    expect((await stat(join(root, 'run.sh'))).mode & 0o7777).toBe(0o754);
    expect(await readdir(root)).toEqual(['run.sh']);
  });

  test('edits of one file at the same time all count', async () => {
    const { root } = await workspace({ a: Array.from({ length: 20 }, (_, index) => `<${index}>\n`).join('') });
    const tool = editFileTool({ root });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        call(tool, { path: 'a', old_text: `<${index}>`, new_text: `done ${index}` }, { knows: root }),
      ),
    );
    expect(await readFile(join(root, 'a'), 'utf8')).toBe(
      Array.from({ length: 20 }, (_, index) => `done ${index}\n`).join(''),
    );
  });

  test('only the final newline may change', async () => {
    const { after, text } = await edit('a\nb', 'b', 'b\n');
    expect(after.toString()).toBe('a\nb\n');
    expect(text).toBe('Edited file.txt at line 2.\nOnly the final newline changed.');
  });

  test('changes nothing but the matched region, whatever the line ends', () => {
    const units = ['a', 'b', ' ', '\n', '\r\n', 'é'];
    const text = fc.string({ unit: fc.constantFrom(...units, '\r'), maxLength: 30 });
    const newText = fc.string({ unit: fc.constantFrom(...units), maxLength: 30 });
    fc.assert(
      fc.property(text, text, newText, (before, after, replacement) => {
        const marker = '<one>\n<two>';
        const outcome = replaceOnce(before + marker + after, marker, replacement);
        expect(outcome.kind).toBe('replaced');
        if (outcome.kind !== 'replaced') return;
        expect(outcome.text.startsWith(before)).toBe(true);
        expect(outcome.text.endsWith(after)).toBe(true);
        const middle = outcome.text.slice(before.length, outcome.text.length - after.length);
        expect(middle.replaceAll('\r\n', '\n')).toBe(replacement.replaceAll('\r\n', '\n'));
      }),
    );
  });
});

describe('no match', () => {
  test.each([
    ['indentation', 'if (a) {\n\treturn 1;\n}\n', '    return 1;', ['line 2', 'whitespace', '2: "\\treturn 1;"']],
    ['space at the end of a line', 'one  \ntwo\n', 'one\ntwo', ['line 1', 'whitespace at the end of lines']],
    ['typographic quotes', 'say “hello”\n', 'say "hello"', ['line 1', 'quotes']],
    ['case', 'const Value = 1;\n', 'const value = 1;', ['line 1', 'case']],
    ['a decomposed character', 'x\ncafe\u0301\n', 'caf\u00e9', ['line 2', 'Unicode']],
    [
      'a similar line',
      'alpha\nfunction compute(a, b) {\n',
      'function compute(a, c) {',
      ['closest lines begin at line 2'],
    ],
    ['line numbers', 'one\ntwo\n', '   1\tone\n   2\ttwo', ['line numbers']],
    ['nothing like it', 'one\ntwo\n', 'zzzzzzzzzzzz', ['Nothing in the file is close']],
  ])('hints at %s', async (_name, content, oldText, hints) => {
    const { isError, text, details, after } = await edit(content, oldText, 'x');
    expect(isError).toBe(true);
    expect(details['problem']).toBe('no_match');
    for (const hint of hints) expect(text).toContain(hint);
    expect(after.toString()).toBe(content);
  });

  test('a hint on a large file is quick', { timeout: 20_000 }, async () => {
    const content = 'the quick brown fox jumps over the lazy dog\n'.repeat(200_000);
    expect((await edit(content, 'a quick brown cat jumped over\na lazy dog', 'x')).isError).toBe(true);
  });
});

describe('refusals', () => {
  test('T24: more than one match names the count and the lines', async () => {
    const { isError, text, details } = await edit('a\nb\na\nc\na\n', 'a', 'x');
    expect(isError).toBe(true);
    expect(details['problem']).toBe('many_matches');
    expect(text).toContain('3 times in file.txt, at lines 1, 3, 5');
  });

  test('matches that overlap, or differ only in line ends, are more than one', async () => {
    expect((await edit('aaa', 'aa', 'b')).details['problem']).toBe('many_matches');
    expect((await edit('a\nb\n\na\r\nb\n', 'a\nb', 'x')).details['problem']).toBe('many_matches');
  });

  test.each([
    ['UTF-16', Buffer.from('\ufeffabc', 'utf16le'), 'encoding', 'UTF-16LE'],
    ['Latin-1', Buffer.from('abc é', 'latin1'), 'encoding', 'not valid UTF-8'],
    ['binary', Buffer.from('abc\0'), 'binary', 'binary'],
  ])('T22: %s files are refused and left as they are', async (_name, content, problem, word) => {
    const answer = await edit(content, 'abc', 'x');
    expect(answer.isError).toBe(true);
    expect(answer.details['problem']).toBe(problem);
    expect(answer.text).toContain(word);
    expect(answer.after.equals(content)).toBe(true);
  });

  test('empty, equal and line-end-only changes are refused', async () => {
    expect((await edit('a', '', 'x')).details['problem']).toBe('bad_request');
    expect((await edit('a', 'a', 'a')).details['problem']).toBe('bad_request');
    expect((await edit('a\nb', 'a\nb', 'a\r\nb')).details['problem']).toBe('bad_request');
  });

  test('a missing file is answered with near names', async () => {
    const { root } = await workspace({ 'notes.md': '' });
    const answer = await call(editFileTool({ root }), { path: 'note.md', old_text: 'a', new_text: 'b' });
    expect(answer).toMatchObject({ isError: true, text: 'note.md does not exist. Near names: notes.md.' });
  });

  test('a file over the limit is refused', async () => {
    const { root } = await workspace({ a: 'x'.repeat(101) });
    const args = { path: 'a', old_text: 'x', new_text: 'y' };
    const answer = await call(editFileTool({ root, maxBytes: 100 }), args, { knows: root });
    expect(answer.details['problem']).toBe('too_large');
  });
});
