import { describe, expect, it } from 'vitest';

import { FLAGS, readArguments, type FlagName } from './arguments.ts';

const names = Object.keys(FLAGS) as FlagName[];

describe('the arguments of treadle-agent-sdk', () => {
  it.each(names.filter((name) => FLAGS[name].kind !== 'switch'))('take --%s in both forms', (name) => {
    const joined = readArguments([`--${name}=a b`, '--verbose']);
    const apart = readArguments([`--${name}`, 'a b', '--verbose']);
    expect([joined.values(name), apart.values(name)]).toEqual([['a b'], ['a b']]);
    expect([joined.has('verbose'), apart.has('verbose')]).toEqual([true, true]);
  });

  it('take a JSON value with dashes and an equals sign in it', () => {
    const json = '{"mcpServers":{"a":{"command":"x","args":["--y=1"]}}}';
    expect(readArguments(['--mcp-config', json]).text('mcp-config')).toBe(json);
  });

  it('split lists at commas outside parentheses, and tell an empty list from none', () => {
    const args = readArguments(['--allowedTools=Bash(a, b:*),Read', '--tools=', '--setting-sources=']);
    expect([args.list('allowedTools'), args.list('tools'), args.list('disallowedTools')]).toEqual([
      ['Bash(a, b:*)', 'Read'],
      [],
      undefined,
    ]);
  });

  it('pass over what nobody knows, with its value', () => {
    const args = readArguments(['--not-known', 'value', '--other=1', '--model', 'x']);
    expect([args.unknown, args.text('model')]).toEqual([['--not-known', '--other=1'], 'x']);
  });

  it('refuse an amount that is none', () => {
    expect(() => readArguments(['--max-turns', 'many']).amount('max-turns')).toThrow('takes a number above 0');
  });

  it('refuse a flag without its value', () => {
    expect(() => readArguments(['--model'])).toThrow('--model needs a value');
  });
});
