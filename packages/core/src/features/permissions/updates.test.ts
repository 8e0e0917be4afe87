import { describe, expect, it } from 'vitest';

import { checkPermissions } from './permissions.ts';
import { policyOf } from './policy.ts';
import { suggestUpdates } from './suggest.ts';
import { applyUpdate, type SessionPermissions } from './updates.ts';
import { checkUpdates } from './check-updates.ts';
import type { PermissionUpdate } from '../../events/permission-updates.ts';

const after = (...updates: PermissionUpdate[]): SessionPermissions | null =>
  updates.reduce<SessionPermissions | null>(applyUpdate, null);

const config = checkPermissions(
  {
    mode: 'acceptEdits',
    allow: ['bash(make)'],
    settings: [{ source: 'localSettings', allow: ['bash(npm test)', 'bash(git status:*)'], deny: ['fetch'] }],
    directories: ['/data'],
  },
  [],
  ['fetch'],
);

const textsOf = (session: SessionPermissions | null, behavior: 'allow' | 'deny' = 'allow'): string[] =>
  policyOf(config, session).rules[behavior].map(({ text }) => text);

describe('Updates of a session', () => {
  it('add rules, once each, beside those of the agent', () => {
    const add = { type: 'addRules', rules: ['own', 'own'], behavior: 'allow', destination: 'session' } as const;
    expect(textsOf(after(add, add))).toEqual(['bash(make)', 'bash(npm test)', 'bash(git status:*)', 'own']);
  });

  it('replace and remove the rules of one behaviour and one destination, and no other', () => {
    const of = { behavior: 'allow', destination: 'localSettings' } as const;
    const replaced = after({ type: 'replaceRules', rules: ['own'], ...of });
    expect(textsOf(replaced)).toEqual(['bash(make)', 'own']);
    expect(textsOf(replaced, 'deny')).toEqual(['fetch']);
    const removed = after({ type: 'removeRules', rules: ['bash(npm test)', 'bash(make)'], ...of });
    expect(textsOf(removed)).toEqual(['bash(make)', 'bash(git status:*)']);
    const again = after(
      { type: 'removeRules', rules: ['bash(npm test)'], ...of },
      { type: 'addRules', rules: ['bash(npm test)'], ...of },
    );
    expect(textsOf(again)).toEqual(['bash(make)', 'bash(git status:*)', 'bash(npm test)']);
  });

  it('set the mode, but bypass only where the agent makes it possible', () => {
    const plan = after({ type: 'setMode', mode: 'plan', destination: 'session' });
    expect(policyOf(config, plan).mode).toBe('plan');
    const bypass = after({ type: 'setMode', mode: 'bypass', destination: 'session' });
    expect(policyOf(config, bypass).mode).toBe('acceptEdits');
    expect(policyOf(checkPermissions({ allowBypass: true }), bypass).mode).toBe('bypass');
  });

  it('add and remove folders', () => {
    const add = { type: 'addDirectories', directories: ['/more'], destination: 'session' } as const;
    expect(policyOf(config, after(add)).directories).toEqual(['/data', '/more']);
    const remove = { type: 'removeDirectories', directories: ['/data'], destination: 'session' } as const;
    expect(policyOf(config, after(add, remove)).directories).toEqual(['/more']);
    expect(policyOf(config, after(remove, { ...add, directories: ['/data'] })).directories).toEqual(['/data']);
  });

  it.each<[unknown, string]>([
    ['all', 'they must be a list'],
    [[null], 'each of them must be an object'],
    [[{ type: 'allowAll', destination: 'session' }], 'there is no type "allowAll"'],
    [[{ type: 'setMode', mode: 'default' }], 'destination must be one of'],
    [[{ type: 'setMode', mode: 'free', destination: 'session' }], 'mode must be one of'],
    [[{ type: 'setMode', mode: 'bypass', destination: 'session' }], 'needs allowBypass'],
    [[{ type: 'addRules', rules: ['bash('], behavior: 'allow', destination: 'session' }], "can't be used"],
    [[{ type: 'addRules', rules: 'bash', behavior: 'allow', destination: 'session' }], 'rules must be a list'],
    [[{ type: 'addRules', rules: [], behavior: 'maybe', destination: 'session' }], 'behavior must be one of'],
    [[{ type: 'addDirectories', directories: ['a'], destination: 'session' }], 'must be an absolute path'],
    [[{ type: 'addDirectories', directories: ['/a/../b'], destination: 'session' }], 'must be an absolute path'],
  ])('of another form are refused: %j', (given, words) => {
    expect(() => checkUpdates(given, false)).toThrow(words);
  });
});

describe('Suggestions', () => {
  const rulesOf = (...from: Parameters<typeof suggestUpdates>): (readonly string[])[] =>
    suggestUpdates(...from).flatMap((update) => (update.type === 'addRules' ? [update.rules] : []));
  const shell = (text: string, plain: string[][] | null): Parameters<typeof suggestUpdates>[1] => ({
    commands: { text, plain: plain?.map((words) => ({ words, harmless: words[0] === 'ls' })) ?? null, named: [] },
  });

  it('are the narrowest rules that would let the call run', () => {
    expect(rulesOf('own', null)).toEqual([['own']]);
    expect(rulesOf('bash', shell('ls; npm "a b"', [['ls'], ['npm', 'a b']]))).toEqual([["bash(npm 'a b')"]]);
    expect(rulesOf('bash', shell(' echo $X ', null))).toEqual([['bash(echo $X)']]);
    expect(rulesOf('fetch', { hosts: ['example.com'] })).toEqual([['fetch(domain:example.com)']]);
    const paths = [{ path: '/work/src/a', write: true }];
    expect(rulesOf('edit_file', { folder: '/work', paths })).toEqual([['edit_file(src/a)'], ['edit_file(**)']]);
    expect(rulesOf('edit_file', { folder: '/other', paths })).toEqual([['edit_file(/work/src/a)']]);
  });

  it('are left out where a rule would mean more than the call', () => {
    expect(rulesOf('bash', shell('a\nb $X', null))).toEqual([]);
    expect(rulesOf('bash', shell('echo a:*', [['echo', 'a:*']]))).toEqual([]);
    expect(rulesOf('edit_file', { folder: '/work', paths: [{ path: '/work/a*', write: true }] })).toEqual([]);
  });
});
