import { type Clock, systemClock } from '@treadle/core';
import { open, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { searchTool, type SearchToolOptions } from '../search-tool.ts';
import { call, workspace, type Workspace } from '../test-support/workspace.ts';

const noRipgrep = { findRipgrep: () => Promise.resolve(undefined) };

function builtIn(place: Workspace, options: Omit<SearchToolOptions, 'root'> = {}): ReturnType<typeof searchTool> {
  return searchTool({ root: place.root, ...noRipgrep, ...options });
}

const files = {
  'a.txt': 'Hello world\nsecond line\nhello again\n',
  'src/b.ts': 'const hello = 1;\r\nconst other = 2;\r\n',
  'src/deep/c.md': '# Title\nnothing\nHELLO',
  'node_modules/x/index.js': 'hello',
  '.hidden': 'hello hidden\n',
  'binary.bin': 'hello\0world\n',
};

describe('search, built in', () => {
  test('finds lines in all text files, ignoring case, in order of path and line', async () => {
    const place = await workspace(files);
    const { text, details } = await call(builtIn(place), { pattern: 'hel+o' });
    expect(text).toBe(
      [
        '.hidden:1: hello hidden',
        'a.txt:1: Hello world',
        'a.txt:3: hello again',
        'src/b.ts:1: const hello = 1;',
        'src/deep/c.md:3: HELLO',
      ].join('\n'),
    );
    expect(details).toMatchObject({ truncated: false, engine: 'built-in' });
    expect(details['matches']).toContainEqual({ path: 'src/b.ts', line: 1, text: 'const hello = 1;' });
  });

  test.each([
    [{ pattern: 'Hello', case_sensitive: true }, ['a.txt:1']],
    [{ pattern: '^hello' }, ['.hidden:1', 'a.txt:1', 'a.txt:3', 'src/deep/c.md:3']],
    [{ pattern: ';$' }, ['src/b.ts:1', 'src/b.ts:2']],
    [{ pattern: 'hello', glob: '*.ts' }, ['src/b.ts:1']],
    [{ pattern: 'hello', glob: 'src/**' }, ['src/b.ts:1', 'src/deep/c.md:3']],
    [{ pattern: 'hello', path: 'src' }, ['src/b.ts:1', 'src/deep/c.md:3']],
    [{ pattern: 'hello', path: 'src', glob: 'deep/*.md' }, ['src/deep/c.md:3']],
    [{ pattern: 'hello', path: 'src', glob: 'src/deep/*.md' }, ['src/deep/c.md:3']],
    [{ pattern: 'hello', path: 'a.txt' }, ['a.txt:1', 'a.txt:3']],
    [{ pattern: 'hello', path: 'node_modules' }, ['node_modules/x/index.js:1']],
    [{ pattern: '(?i)HELLO AGAIN', case_sensitive: true }, ['a.txt:3']],
    [{ pattern: 'l\\"|second' }, ['a.txt:2']],
    [{ pattern: '[[:nothing' }, undefined],
  ])('%j', async (args, expected) => {
    const place = await workspace(files);
    const { text, isError } = await call(builtIn(place), args);
    expect(isError).toBe(expected === undefined);
    if (expected === undefined) expect(text).toContain('The pattern can not be used');
    else expect(text.split('\n').map((line) => line.split(': ')[0])).toEqual(expected);
  });

  test('says when nothing matches', async () => {
    expect((await call(builtIn(await workspace(files)), { pattern: 'absent' })).text).toBe('No matching lines.');
  });

  test('stops at the limit and says that there is more; exactly the limit is not more', async () => {
    const place = await workspace({ a: 'x\n'.repeat(5), b: 'x\n' });
    const { text, details } = await call(builtIn(place), { pattern: 'x+', limit: 3 });
    expect(text).toBe(
      'a:1: x\na:2: x\na:3: x\n[the first 3 matching lines; there are more: raise limit or narrow the search]',
    );
    expect(details['truncated']).toBe(true);
    expect((await call(builtIn(place), { pattern: 'x+', limit: 6 })).details['truncated']).toBe(false);
  });

  test('shows the part of a long line around the match', async () => {
    const place = await workspace({ a: `${'a'.repeat(50_000)}needle${'b'.repeat(50_000)}\n` });
    const { text } = await call(builtIn(place), { pattern: 'needle' });
    expect(text).toMatch(/^a:1: …a{150}needleb{294}…$/);
    expect((await call(builtIn(place), { pattern: 'need(le)' })).text).toBe(text);
    const fake = await withFake(place, './a\x001:50001:[Omitted long matching line]\n');
    expect((await call(fake, { pattern: 'needle' })).text).toBe(text);
  });

  test('numbers the lines of a file of many blocks rightly, whatever the encoding', async () => {
    const lines = Array.from({ length: 300_000 }, (_, index) => `line ${index + 1}`);
    const place = await workspace({
      'big.txt': lines.join('\n'),
      'mark.txt': '\ufeffneedle é\n',
      'wide.txt': Buffer.from('\ufeffone\nneedle é\n', 'utf16le'),
      'latin.txt': Buffer.from('needle é\n', 'latin1'),
    });
    expect((await call(builtIn(place), { pattern: '^line 2999(99|98)$' })).text).toBe(
      'big.txt:299998: line 299998\nbig.txt:299999: line 299999',
    );
    expect((await call(builtIn(place), { pattern: '^needle .' })).text).toBe(
      'latin.txt:1: needle \ufffd\nmark.txt:1: needle é\nwide.txt:2: needle é',
    );
  });

  test('a line without end does not fill the memory', { timeout: 60_000 }, async () => {
    const place = await workspace();
    const handle = await open(await place.put('root/big', ''), 'a');
    for (let written = 0; written < 100; written += 1) await handle.write(Buffer.alloc(1024 * 1024, 'x'));
    await handle.write('needle\n');
    await handle.close();
    const before = process.memoryUsage.rss();
    expect((await call(builtIn(place), { pattern: 'needle' })).text).toMatch(/^big:1: .*needle$/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(250 * 1024 * 1024);
  });

  test.each(['(a+)+$', '(a|a)*b', '(.*a){25}b', '(a|aa)+(?=c)'])(
    'the pattern %s, which backtracks for ever, is ended at the time limit',
    async (pattern) => {
      const place = await workspace({ '1.txt': 'b match\n', '2.txt': `${'a'.repeat(5000)}!\n` });
      const { text, details } = await call(builtIn(place, { timeLimitMs: 300 }), { pattern });
      expect(text).toContain('[stopped after 0.3 s: the search is incomplete');
      expect(details['truncated']).toBe(true);
    },
  );

  test('an abort ends it, even in the middle of a hopeless match', async () => {
    const place = await workspace({ a: `${'a'.repeat(5000)}!\n` });
    const abort = new AbortController();
    const cancel = systemClock.after(200, () => {
      abort.abort();
    });
    const answer = await call(builtIn(place), { pattern: '(a+)+$' }, { signal: abort.signal });
    cancel();
    expect(answer).toMatchObject({ isError: true, details: { problem: 'aborted' } });
  });

  test('the time limit comes from the clock it is given', async () => {
    const asked: number[] = [];
    const clock: Clock = {
      now: systemClock.now,
      after: (ms) => {
        asked.push(ms);
        return () => {};
      },
    };
    await call(builtIn(await workspace(files), { clock }), { pattern: 'hello' });
    expect(asked).toEqual([30_000]);
  });

  test('refuses a missing path with near names, an empty pattern and an unusable glob', async () => {
    const place = await workspace(files);
    expect((await call(builtIn(place), { pattern: 'a', path: 'scr' })).text).toContain('Near names: src');
    expect((await call(builtIn(place), { pattern: '' })).details['problem']).toBe('bad_request');
    expect((await call(builtIn(place), { pattern: 'a', glob: '' })).details['problem']).toBe('bad_request');
    const braces = '{a,b}'.repeat(12);
    expect((await call(builtIn(place), { pattern: 'a', glob: braces })).details['problem']).toBe('bad_request');
  });
});

/** A program in place of ripgrep that writes down its arguments and prints `output`. */
async function fakeRipgrep(place: Workspace, output: string, ending = 'exit 0'): Promise<string> {
  await place.put('rg-output', output);
  const script = `#!/bin/sh\nprintf '%s\\0' "$@" > "$(dirname "$0")/rg-arguments"\ncat "$(dirname "$0")/rg-output"\n${ending}\n`;
  return place.put('rg', script, 0o755);
}

async function withFake(place: Workspace, output: string, ending?: string): Promise<ReturnType<typeof searchTool>> {
  const program = await fakeRipgrep(place, output, ending);
  return searchTool({ root: place.root, findRipgrep: () => Promise.resolve(program) });
}

describe('search, with ripgrep', () => {
  test('takes places from ripgrep and text from the files', async () => {
    const place = await workspace(files);
    const tool = await withFake(place, './a.txt\x003:1:[Omitted long matching line]\n./src/b.ts\x001:7:whatever\n');
    const { text, details } = await call(tool, { pattern: 'hello' });
    expect(text).toBe('a.txt:3: hello again\nsrc/b.ts:1: const hello = 1;');
    expect(details).toMatchObject({ engine: 'ripgrep', truncated: false });
  });

  test('a file that became a link to outside, or is gone, shows nothing', async () => {
    const place = await workspace(files);
    const tool = await withFake(
      place,
      './link\x001:1:x\n./gone\x001:1:x\n./../outside/secret.txt\x001:1:x\n./a.txt\x001:1:x\n',
    );
    await symlink(join(place.outside, 'secret.txt'), join(place.root, 'link'));
    const { text } = await call(tool, { pattern: 'x' });
    expect(text).toBe('a.txt:1: Hello world\n[files or folders that could not be read: 3]');
  });

  test('no match is no error, and a failure falls back to the built-in search', async () => {
    const place = await workspace(files);
    expect((await call(await withFake(place, '', 'exit 1'), { pattern: 'hello' })).text).toBe('No matching lines.');
    const failing = await withFake(place, '', 'echo "regex parse error" >&2; exit 2');
    expect((await call(failing, { pattern: 'again(?=$)' })).details).toMatchObject({ engine: 'built-in' });
    const missing = searchTool({ root: place.root, findRipgrep: () => Promise.resolve('/nonexistent/rg') });
    expect((await call(missing, { pattern: 'again' })).text).toBe('a.txt:3: hello again');
    expect((await call(failing, { pattern: '(' })).isError).toBe(true);
  });

  test('stops ripgrep when there is enough', async () => {
    const place = await workspace({ a: 'x\n'.repeat(1000) });
    const output = Array.from({ length: 1000 }, (_, index) => `./a\0${index + 1}:1:x\n`).join('');
    const tool = await withFake(place, output, 'sleep 600');
    const { details } = await call(tool, { pattern: 'x', limit: 5 });
    expect(details['matches']).toHaveLength(5);
    expect(details['truncated']).toBe(true);
  });

  test('is stopped at the time limit', async () => {
    const place = await workspace(files);
    const program = await fakeRipgrep(place, './a.txt\x001:1:x\n', 'sleep 600');
    const tool = searchTool({ root: place.root, timeLimitMs: 300, findRipgrep: () => Promise.resolve(program) });
    const { text } = await call(tool, { pattern: 'x' });
    expect(text).toContain('[stopped after 0.3 s');
  });

  test('is never taken from the folder that is searched', async () => {
    const place = await workspace(files);
    await place.put('root/node_modules/.bin/rg', '#!/bin/sh\necho planted > planted\n', 0o755);
    const path = process.env['PATH'];
    try {
      process.env['PATH'] = `${join(place.root, 'node_modules/.bin')}:${path ?? ''}`;
      await call(searchTool({ root: place.root }), { pattern: 'hello' });
    } finally {
      process.env['PATH'] = path;
    }
    await expect(rm(join(place.root, 'planted'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
