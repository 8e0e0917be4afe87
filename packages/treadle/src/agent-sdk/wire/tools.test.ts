import { describe, expect, it } from 'vitest';

import { ownInput, ownName, WIRE_TOOLS, wireInput, wireName } from './tools.ts';

describe('the table of tools', () => {
  it.each(WIRE_TOOLS.map(({ ours, theirs }) => [ours, theirs]))(
    'names %s on the wire as %s, and back',
    (ours, theirs) => {
      expect([wireName(ours), ownName(theirs)]).toEqual([theirs, ours]);
    },
  );

  it('leaves the names of other tools as they are', () => {
    expect([wireName('mcp__a__b'), ownName('mcp__a__b'), ownName('Task')]).toEqual(['mcp__a__b', 'mcp__a__b', 'agent']);
  });

  it.each([
    ['bash', { command: 'ls', timeout_ms: 5 }, { command: 'ls', timeout: 5 }],
    [
      'edit_file',
      { path: '/w/a', old_text: 'x', new_text: 'y' },
      { file_path: '/w/a', old_string: 'x', new_string: 'y' },
    ],
    ['search', { pattern: 'x', case_sensitive: false, limit: 3 }, { pattern: 'x', '-i': true, head_limit: 3 }],
    ['todo', { todos: [] }, { todos: [] }],
    ['mcp__a__b', { path: 'x' }, { path: 'x' }],
  ])('renames the input of %s in both directions', (tool, ours, theirs) => {
    expect(wireInput(tool, ours, '/w')).toEqual(theirs);
    expect(ownInput(tool, theirs)).toEqual(ours);
  });

  it('makes paths absolute on the wire', () => {
    expect(wireInput('read_file', { path: 'src/a.ts' }, '/w')).toEqual({ file_path: '/w/src/a.ts' });
  });
});
