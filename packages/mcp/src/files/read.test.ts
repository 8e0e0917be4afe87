import { describe, expect, it } from 'vitest';

import { readMcpFile } from './read.ts';

const VARIABLES = { env: { TOKEN: 'abc', EMPTY: '' }, folder: '/project', home: '/home/ada' };
const read = (file: object | string) =>
  readMcpFile('/project/.mcp.json', typeof file === 'string' ? file : JSON.stringify(file), VARIABLES);

describe('a file of servers', () => {
  it('of Claude Code is read', () => {
    const servers = read({
      mcpServers: {
        files: { command: 'npx', args: ['-y', 'server', '${workspaceFolder}/a'], env: { KEY: '${TOKEN}' } },
        web: { type: 'http', url: 'https://a.example/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
        old: { type: 'sse', url: 'https://a.example/${PATH_PART:-sse}' },
      },
    });
    expect(servers.map(({ config }) => config)).toEqual([
      { command: 'npx', args: ['-y', 'server', '/project/a'], env: { KEY: 'abc' }, cwd: '/project' },
      { type: 'http', url: 'https://a.example/mcp', headers: { Authorization: 'Bearer abc' } },
      { type: 'sse', url: 'https://a.example/sse' },
    ]);
  });

  it('of Cursor is read', () => {
    const [server] = read({ mcpServers: { a: { command: '${userHome}/bin/a', env: { K: '${env:TOKEN}' } } } });
    expect(server?.config).toMatchObject({ command: '/home/ada/bin/a', env: { K: 'abc' } });
  });

  it('of VS Code is read, with its comments', () => {
    const servers = read(`{
      // shared
      "inputs": [],
      "servers": {
        "a": { "type": "stdio", "command": "a", "args": ["// no comment", "b,]"], },
        "b": { "type": "http", "url": "https://b.example/" /* here */ },
      },
    }`);
    expect(servers.map(({ config }) => config)).toEqual([
      { command: 'a', args: ['// no comment', 'b,]'], cwd: '/project' },
      { type: 'http', url: 'https://b.example/' },
    ]);
  });

  it.each([
    ['a variable that is not set', { command: 'a', env: { K: '${NONE}' } }, 'the variable NONE is not set'],
    ['a variable that is empty', { command: '${EMPTY}' }, 'the variable EMPTY is not set'],
    ['a question to the user', { command: '${input:key}' }, '${input:key} is no variable that is known here'],
    ['nothing to start', { args: [] }, 'it has neither a command nor a url'],
    [
      'another transport',
      { url: 'https://a/', type: 'pigeon' },
      'its type is "pigeon", and must be stdio, http or sse',
    ],
    ['a broken address', { url: 'a b' }, expect.stringContaining('no http or https address') as string],
  ])('says which server has %s, and keeps the others', (_what, entry, problem) => {
    const servers = read({ mcpServers: { bad: entry, good: { command: 'g' } } });
    expect(servers).toMatchObject([
      { name: 'bad', config: null, problem },
      { name: 'good', problem: null },
    ]);
  });

  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no servers', '{}'],
    ['a list of servers', '{"mcpServers":[]}'],
  ])('that is %s is refused', (_what, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });
});

describe('the digest of a server', () => {
  const digest = (entry: object) => read({ mcpServers: { a: entry } })[0]?.digest;
  const base = { command: 'a', args: ['b'], env: { K: '${TOKEN}' } };

  it('is another one when what it runs or reaches has changed', () => {
    const others = [{ args: ['c'] }, { command: 'b' }, { env: { K: 'x' } }, { cwd: '/' }, { url: 'https://a/' }];
    const digests = others.map((other) => digest({ ...base, ...other }));
    expect(new Set([digest(base), ...digests]).size).toBe(6);
  });

  it('is the same when nothing of that has', () => {
    expect(digest({ autoApprove: ['all'], ...base })).toBe(digest(base));
  });
});

it('shows how a server is started, and no values of its variables', () => {
  const env = { KEY: 'canary', OTHER: '${TOKEN}' };
  const [server] = read({ mcpServers: { a: { command: 'a', args: ['b', '${workspaceFolder}'], env } } });
  expect(server?.shown).toBe('a b ${workspaceFolder} (sets KEY, OTHER; gets your TOKEN)');
});
