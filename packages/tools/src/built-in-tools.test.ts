import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { builtInTools } from './built-in-tools.ts';
import { workspace } from './test-support/workspace.ts';

test('there are six tools, with the arguments a model is told', async () => {
  const { root } = await workspace();
  const shapes = builtInTools({ root }).map(({ name, readOnly, replay, execution, inputSchema: parameters }) => ({
    name,
    readOnly,
    replay,
    execution,
    properties: Object.keys(parameters['properties'] ?? {}),
    required: parameters['required'] ?? [],
  }));
  const reader = { readOnly: true, replay: 'safe', execution: 'parallel' };
  const writer = { readOnly: false, replay: 'never', execution: 'sequential' };
  expect(shapes).toEqual([
    { name: 'list_files', ...reader, properties: ['path', 'pattern', 'max_depth', 'limit', 'sort'], required: [] },
    {
      name: 'search',
      ...reader,
      properties: ['pattern', 'path', 'glob', 'case_sensitive', 'limit'],
      required: ['pattern'],
    },
    { name: 'read_file', ...reader, properties: ['path', 'offset', 'limit'], required: ['path'] },
    { name: 'write_file', ...writer, properties: ['path', 'content'], required: ['path', 'content'] },
    {
      name: 'edit_file',
      ...writer,
      properties: ['path', 'old_text', 'new_text'],
      required: ['path', 'old_text', 'new_text'],
    },
    { name: 'bash', ...writer, properties: ['command', 'timeout_ms'], required: ['command'] },
  ]);
});

test('arguments of the wrong kind are refused before anything happens', async () => {
  const { root } = await workspace();
  const tools = new Map(builtInTools({ root }).map((tool) => [tool.name, tool]));
  const wrong: readonly [string, Record<string, string | number | boolean>][] = [
    ['read_file', { path: 5 }],
    ['read_file', { path: 'a', offset: 0 }],
    ['read_file', { path: 'a', offset: 1.5 }],
    ['read_file', { path: 'a', extra: true }],
    ['write_file', { path: 'a' }],
    ['list_files', { limit: 5001 }],
    ['list_files', { sort: 'name' }],
    ['search', {}],
    ['bash', { command: 'x', timeout_ms: '5' }],
  ];
  for (const [name, args] of wrong) {
    expect({ name, args, ...(await tools.get(name)?.check(args)) }).toMatchObject({ name, args, ok: false });
  }
  expect(await readdir(root)).toEqual([]);
});

test('a folder that does not exist is refused when the tools are made', () => {
  expect(() => builtInTools({ root: '/nonexistent/folder' })).toThrow(
    expect.objectContaining({ code: 'invalid_definition' }),
  );
});
