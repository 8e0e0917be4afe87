import { describe, expect, it } from 'vitest';

import { TreadleError } from '../../../errors.ts';
import { matchesPath } from './glob.ts';
import { loadRule } from './load.ts';
import type { RuleInput } from './rule.ts';
import { joinWords, splitWords } from './words.ts';

const problemOf = (input: RuleInput): string => {
  try {
    loadRule(input, 'deny', 'agent');
  } catch (error) {
    if (error instanceof TreadleError && error.code === 'invalid_definition') return error.message;
    throw error;
  }
  return 'none';
};

describe('The text of a rule', () => {
  it.each([
    ['', 'no name of a tool'],
    ['ba sh', 'no name of a tool'],
    ['bash(', 'parenthesis is not closed'],
    ['bash(git', 'parenthesis is not closed'],
    ['bash()', 'parentheses are empty'],
    ['bash(:*)', 'no word stands before'],
    ['bash(echo "a:*)', 'the quote " is not closed'],
    ['*(git:*)', 'a rule for many tools has no parentheses'],
    ['mcp__github(a)', 'a rule for many tools has no parentheses'],
    ['m*p', 'no name of a tool'],
    ['read_file(../secrets)', 'no ".."'],
    ['read_file(~/secrets)', '"~" is not expanded'],
    ['fetch(domain:https://example.com/)', 'without https://'],
    ['fetch(domain:)', 'stands a host'],
    [`bash(${'a'.repeat(5000)})`, 'longer than'],
  ])('is refused with the reason: %s', (text, words) => {
    expect(problemOf(text)).toContain(words);
  });

  it.each(['bash', 'bash(git status:*)', 'bash(npm test)', 'read_file(src/**)', 'edit_file(/abs/**)', '*'])(
    'may be %s',
    (text) => {
      expect(problemOf(text)).toBe('none');
    },
  );

  it('that is no text at all is refused', () => {
    expect(problemOf({ rule: 7 } as unknown as RuleInput)).toContain('a rule is a text');
    expect(problemOf(null as unknown as RuleInput)).toContain('a rule is a text');
  });
});

describe('The examples of a rule', () => {
  it.each<RuleInput>([
    {
      rule: 'bash(git status:*)',
      match: ['git status', 'git status -s'],
      noMatch: ['git push', 'git statuses', 'git'],
    },
    { rule: 'bash(npm test)', match: ['npm test', 'npm "test"'], noMatch: ['npm test -- a', 'npm'] },
    { rule: 'bash(rm:*)', match: ['rm -rf /', '/bin/rm a'], noMatch: ['rmdir a', 'echo rm'] },
    { rule: 'edit_file(src/**)', match: ['src/a.ts', 'src/a/b.ts'], noMatch: ['srcs/a', 'a/src/b'] },
    { rule: 'edit_file(/etc/**)', match: ['/etc/passwd'], noMatch: ['etc/passwd'] },
    { rule: 'read_file(**/*.pem)', match: ['a.pem', 'a/b/c.pem'], noMatch: ['a.pem.txt'] },
    {
      rule: 'fetch(domain:Example.com)',
      match: ['example.com', 'EXAMPLE.COM.'],
      noMatch: ['a.example.com', 'example.co'],
    },
    { rule: 'fetch(domain:*.example.com)', match: ['a.example.com'], noMatch: ['example.com', 'badexample.com'] },
    { rule: 'mcp__github', match: ['mcp__github__search'], noMatch: ['mcp__github', 'mcp__githubs__a'] },
    { rule: 'mcp__github__*', match: ['mcp__github__search'], noMatch: ['mcp__gitlab__search'] },
    { rule: '*', match: ['bash', 'anything'] },
  ])('are tried when it is loaded: $rule', (rule) => {
    expect(problemOf(rule)).toBe('none');
  });

  it('that turn out otherwise stop it from being loaded', () => {
    expect(problemOf({ rule: 'bash(git:*)', match: ['gitk'] })).toContain('"gitk" is not matched');
    expect(problemOf({ rule: 'bash(git:*)', noMatch: ['git push'] })).toContain('"git push" is matched');
    expect(problemOf({ rule: 'bash', match: 'bash' } as unknown as RuleInput)).toContain('match is a list of texts');
  });

  it('of a rule that allows are what it alone would let run', () => {
    // Denying a folder denies what is in it; allowing one allows that one name.
    expect(() => loadRule({ rule: 'edit_file(src)', noMatch: ['src/a'] }, 'allow', 'agent')).not.toThrow();
    expect(() => loadRule({ rule: 'edit_file(src)', match: ['src/a'] }, 'deny', 'agent')).not.toThrow();
  });
});

describe('Patterns of paths', () => {
  it('take time that is bounded by the lengths, however hostile', () => {
    expect(matchesPath(`/${'**/a/'.repeat(300)}b`, `/${'a/'.repeat(3000)}c`)).toBe(false);
    expect(matchesPath(`/${'*a'.repeat(500)}b`, `/${'a'.repeat(5000)}`)).toBe(false);
  });
});

describe('Words', () => {
  it.each([
    ['git  commit -m "a b"', ['git', 'commit', '-m', 'a b']],
    [String.raw`a\ b 'c"d' ''`, ['a b', 'c"d', '']],
    ['', []],
  ])('are split: %s', (text, words) => {
    expect(splitWords(text)).toEqual({ ok: true, words });
  });

  it.each([[['a']], [['a b', "it's", '', '"']], [['\\', '\n']]])('that were joined are read back: %j', (words) => {
    expect(splitWords(joinWords(words))).toEqual({ ok: true, words });
  });
});
