// Compares the real ripgrep, which has to be installed, with the built-in search.
import { expect, test } from 'vitest';
import { findExecutable } from '../bash/find-executable.ts';
import { searchTool } from '../search-tool.ts';
import { call, workspace } from '../test-support/workspace.ts';

const program = await findExecutable('rg', process.env['PATH'], '/nonexistent');

test('ripgrep is installed', () => {
  expect(program).toBeDefined();
});

const files = {
  'a.txt': 'Hello world\nsecond (line)\nhello again\n\n',
  'a-b/x.txt': 'hello\n',
  'a/x.txt': 'hello\n',
  'src/b.ts': 'const hello = 1;\r\nconst other = 2;\r\n',
  'src/deep/c.md': '# Title\nnothing\nHELLO',
  'src/dist/out.js': 'hello',
  'node_modules/x/index.js': 'hello',
  '.hidden/file': 'hello hidden\n',
  '.gitignore': 'a.txt\n',
  'binary.bin': 'hello\0world\n',
  'mark.txt': '\ufeffhello é\n',
  'wide.txt': Buffer.from('\ufeffone\nhello é\n', 'utf16le'),
  'latin.txt': Buffer.from('hello é\n', 'latin1'),
  'long.txt': `${'x'.repeat(3000)}hello\n`,
};

test.each([
  { pattern: 'hello' },
  { pattern: '^hello' },
  { pattern: 'hello$' },
  { pattern: ';$' },
  { pattern: 'hel+o\\b', case_sensitive: true },
  { pattern: '\\(line\\)' },
  { pattern: 'é' },
  { pattern: '^$' },
  { pattern: 'o', limit: 3 },
  { pattern: 'hello', glob: '*.ts' },
  { pattern: 'hello', glob: 'src/**' },
  { pattern: 'hello', glob: '*.{ts,md}' },
  { pattern: 'hello', path: 'src', glob: 'deep/*.md' },
  { pattern: 'hello', path: 'src', glob: 'src/deep/*.md' },
  { pattern: 'hello', path: 'node_modules' },
  { pattern: 'hello', path: 'a.txt' },
  { pattern: 'a(?=gain)' },
  { pattern: 'absent' },
])('ripgrep and the built-in search find the same for %j', async (args) => {
  const { root } = await workspace(files);
  const expected = await call(searchTool({ root, findRipgrep: () => Promise.resolve(undefined) }), args);
  const answer = await call(searchTool({ root, findRipgrep: () => Promise.resolve(program) }), args);
  expect(answer.details['engine']).toBe(args.pattern.includes('(?=') ? 'built-in' : 'ripgrep');
  expect({ ...answer.details, engine: '' }).toEqual({ ...expected.details, engine: '' });
});
