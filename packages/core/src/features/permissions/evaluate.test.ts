import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ToolAccess } from '../../tools/access.ts';
import { evaluate, type CallSubject } from './evaluate.ts';
import { PERMISSION_MODES, type PermissionMode } from '../../events/permission-updates.ts';
import { checkPermissions, type PermissionConfig, type PermissionOptions } from './permissions.ts';
import { policyOf } from './policy.ts';
import { applyUpdate, type SessionPermissions } from './updates.ts';

const call = (toolName: string, access: ToolAccess | null, more: Partial<CallSubject> = {}): CallSubject => ({
  toolName,
  access,
  readOnly: false,
  needsApproval: false,
  isUnknown: false,
  ...more,
});

/** A shell call of these commands, all of them told; null when they can't be. */
const shell = (...commands: string[]): CallSubject => {
  const words = commands.map((command) => command.split(' '));
  const plain = words.map((word) => ({ words: word, harmless: word[0] === 'echo' }));
  return call('bash', {
    folder: '/work',
    commands: { text: commands.join(' && '), plain, named: words },
    ...(words.every(([word]) => word === 'ls') ? { readOnly: true, confined: true } : { readOnly: false }),
  });
};
const unclear = (text: string, ...named: string[]): CallSubject =>
  call('bash', {
    folder: '/work',
    commands: { text, plain: null, named: named.map((command) => command.split(' ')) },
    readOnly: false,
  });
const read = (path: string, more: { given?: string; recursive?: boolean } = {}): CallSubject =>
  call('read_file', { folder: '/work', paths: [{ path, write: false, ...more }], readOnly: true }, { readOnly: true });
const edit = (path: string): CallSubject =>
  call('edit_file', { folder: '/work', paths: [{ path, write: true }], edits: true });
const fetching = (host: string): CallSubject => call('fetch', { hosts: [host], readOnly: true });
const own = call('own', null);

const checked = (options: PermissionOptions): PermissionConfig => checkPermissions(options, [], ['fetch', 'own']);

const outcome = (options: PermissionOptions, subject: CallSubject): string =>
  evaluate(checked(options), subject).outcome;

describe('Without rules', () => {
  it.each<[string, CallSubject, readonly string[]]>([
    //                                       plan     dontAsk  default  acceptEdits bypass
    ['reading inside', read('/work/a'), ['allow', 'allow', 'allow', 'allow', 'allow']],
    ['reading outside', read('/etc/passwd'), ['ask', 'deny', 'ask', 'ask', 'allow']],
    ['editing inside', edit('/work/a'), ['deny', 'deny', 'ask', 'allow', 'allow']],
    ['editing outside', edit('/etc/passwd'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['editing what decides what runs', edit('/work/.git/config'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['… in other letters', edit('/work/a/.TREADLE/settings.json'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['… a list of servers', edit('/work/.mcp.json'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['… a skill', edit('/work/.agents/skills/a/SKILL.md'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['… a command of Claude Code', edit('/work/.Claude/commands/a.md'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['… a plugin', edit('/work/kit/.claude-plugin/plugin.json'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['a command that only reads', shell('ls -l'), ['allow', 'allow', 'allow', 'allow', 'allow']],
    ['a command', shell('make'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['a command nobody can read', unclear('$X'), ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['talking to a host', fetching('example.com'), ['ask', 'deny', 'ask', 'ask', 'allow']],
    ['a tool of the application', own, ['deny', 'allow', 'allow', 'allow', 'allow']],
    ['… that wants to be asked for', { ...own, needsApproval: true }, ['deny', 'deny', 'ask', 'ask', 'allow']],
    ['… whose access failed', { ...own, isUnknown: true }, ['deny', 'deny', 'ask', 'ask', 'allow']],
    [
      'a command in a sandbox that is enough',
      call('bash', { contained: true, commands: { text: 'make', plain: null, named: [] } }),
      ['deny', 'allow', 'allow', 'allow', 'allow'],
    ],
    [
      'a command that makes a folder',
      call('bash', {
        folder: '/work',
        edits: true,
        paths: [{ path: '/work/a', write: true }],
        commands: { text: 'mkdir a', plain: [{ words: ['mkdir', 'a'] }], named: [['mkdir', 'a']] },
      }),
      ['deny', 'deny', 'ask', 'allow', 'allow'],
    ],
  ])('%s is decided by the mode', (_, subject, expected) => {
    const found = PERMISSION_MODES.map((mode) => outcome({ mode, allowBypass: true }, subject));
    expect(Object.fromEntries(PERMISSION_MODES.map((mode, index) => [mode, found[index]]))).toEqual(
      Object.fromEntries(PERMISSION_MODES.map((mode, index) => [mode, expected[index]])),
    );
  });
});

describe('A call that only reads in a sandbox of its tool', () => {
  const confined = (options: PermissionOptions, subject = shell('ls')): unknown => {
    const verdict = evaluate(checkPermissions(options), subject);
    return verdict.outcome === 'deny' ? 'denied' : verdict.confined === true;
  };

  it('is confined where it runs because it only reads', () => {
    for (const mode of ['default', 'acceptEdits', 'plan', 'dontAsk'] as const) expect(confined({ mode })).toBe(true);
  });

  it('is free where the mode, a rule or a person allows it', () => {
    const outside = { ...shell('ls'), access: { ...shell('ls').access, paths: [{ path: '/etc', write: false }] } };
    expect(confined({ mode: 'bypass', allowBypass: true })).toBe(false);
    expect(confined({ allow: ['bash'] }, outside)).toBe(false);
    expect(confined({ ask: ['bash'] })).toBe(false);
  });

  it('is confined in plan mode, whoever allows it', () => {
    const asked = { ...shell('ls'), hookReason: 'why' };
    expect(confined({ mode: 'plan' }, asked)).toBe(true);
    expect(confined({ mode: 'plan', allow: ['bash'] }, { ...shell('ls'), needsApproval: true })).toBe(true);
  });

  it('is confined where one of the agents above would confine it', () => {
    const policy = checkPermissions({ mode: 'bypass', allowBypass: true });
    const above = [checkPermissions({})];
    expect(evaluate({ ...policy, above }, shell('ls'))).toMatchObject({ outcome: 'allow', confined: true });
  });

  it('says why it asks where it can not be confined', () => {
    const subject = call('bash', {
      commands: { text: 'ls', plain: [], named: [] },
      readOnly: false,
      reason: 'no sandbox',
    });
    expect(evaluate(checkPermissions({}), subject).reason).toBe('No rule allows the command: no sandbox');
    expect(evaluate(checkPermissions({ mode: 'plan' }), subject).reason).toBe(
      'In plan mode only calls that change nothing are run: no sandbox',
    );
  });
});

describe('An allow rule', () => {
  it.each<[string, CallSubject, string]>([
    ['bash(npm test)', shell('npm test'), 'allow'],
    ['bash(npm test)', shell('npm test -- --update'), 'ask'],
    ['bash(npm test:*)', shell('npm test -- --update'), 'allow'],
    ['bash(npm test:*)', shell('echo a', 'npm test'), 'allow'],
    ['bash(npm test:*)', shell('ls', 'npm test'), 'ask'],
    ['bash(npm test:*)', shell('echo a'), 'ask'],
    ['bash(npm test:*)', shell('npm test', 'rm -rf a'), 'ask'],
    ['bash(npm test:*)', unclear('npm test > a', 'npm test'), 'ask'],
    ['bash(npm:*)', shell('/tmp/npm test'), 'ask'],
    ['bash', unclear('eval $X'), 'allow'],
    ['bash(echo $X)', unclear('echo $X', 'echo'), 'allow'],
    ['edit_file(src/**)', edit('/work/src/a/b.ts'), 'allow'],
    ['edit_file(src)', edit('/work/src/a'), 'ask'],
    ['edit_file(src/**)', edit('/work/srcs/a'), 'ask'],
    ['edit_file(**)', edit('/etc/passwd'), 'ask'],
    ['edit_file(**)', edit('/work/.git/hooks/pre-commit'), 'ask'],
    ['edit_file(/etc/**)', edit('/etc/passwd'), 'allow'],
    ['read_file(/var/log/**)', read('/var/log', { recursive: true }), 'allow'],
    ['read_file(/var/log/*)', read('/var/log', { recursive: true }), 'ask'],
    ['fetch(domain:example.com)', fetching('Example.COM.'), 'allow'],
    ['fetch(domain:example.com)', fetching('example.com.evil.org'), 'ask'],
    ['*', fetching('anywhere.org'), 'allow'],
  ])('%s makes of a call: %#', (rule, subject, expected) => {
    expect(outcome({ allow: [rule] }, subject)).toBe(expected);
  });

  it('covers a call together with others, each a part of it', () => {
    const both = shell('npm test', 'git status');
    expect(outcome({ allow: ['bash(npm test)'] }, both)).toBe('ask');
    expect(outcome({ allow: ['bash(npm test)', 'bash(git status:*)'] }, both)).toBe('allow');
  });

  it('holds in the mode dontAsk, and never in the mode plan', () => {
    expect(outcome({ mode: 'dontAsk', allow: ['bash(make)'] }, shell('make'))).toBe('allow');
    expect(outcome({ mode: 'plan', allow: ['bash'] }, shell('make'))).toBe('deny');
  });
});

describe('A deny rule', () => {
  it.each<[string, CallSubject, string]>([
    ['bash(rm:*)', shell('rm -rf a'), 'deny'],
    ['bash(rm:*)', shell('/bin/rm -rf a'), 'deny'],
    ['bash(rm:*)', shell('ls', 'rm a'), 'deny'],
    ['bash(rm:*)', unclear('for f in *; do rm $f; done', 'rm'), 'deny'],
    // What can't be read might be it: never run without asking, not even in bypass.
    ['bash(rm:*)', unclear('$X -rf a'), 'ask'],
    ['bash(rm:*)', shell('make'), 'allow'],
    ['bash(domain:example.com)', shell('make'), 'ask'],
    ['read_file(secrets/**)', read('/work/secrets/a'), 'deny'],
    ['read_file(secrets)', read('/work/secrets/a'), 'deny'],
    // The real path and the one that was written are both looked at.
    ['read_file(secrets/**)', read('/work/secrets/a', { given: '/work/link/a' }), 'deny'],
    ['read_file(link/**)', read('/work/secrets/a', { given: '/work/link/a' }), 'deny'],
    ['read_file(a/secrets/**)', read('/work/a', { recursive: true }), 'ask'],
    ['read_file(b/secrets/**)', read('/work/a', { recursive: true }), 'allow'],
    ['fetch(domain:*.example.com)', fetching('A.example.com.'), 'deny'],
    ['own', own, 'deny'],
    ['*', own, 'deny'],
  ])('%s holds in bypass too: %#', (rule, subject, expected) => {
    expect(outcome({ mode: 'bypass', allowBypass: true, allow: ['*'], deny: [rule] }, subject)).toBe(expected);
  });

  it('T18: is looked for in every sub-command, however many', () => {
    const many = Array.from({ length: 500 }, (_, index) => `echo ${index}`);
    const all = { allow: ['bash'], deny: ['bash(rm:*)'] };
    expect(outcome(all, shell(...many))).toBe('allow');
    expect(outcome(all, shell(...many, 'rm a'))).toBe('deny');
    expect(outcome(all, unclear('…', ...many, 'rm a'))).toBe('deny');
  });

  it('about what a tool does not tell of is refused when the agent is defined', () => {
    const tool = {
      name: 'own',
      label: 'own',
      description: 'own',
      inputSchema: {},
      runs: 'server' as const,
      replay: 'never' as const,
      readOnly: false,
      execution: 'parallel' as const,
      endsRun: false,
      check: () => ({ ok: true as const, value: {} }),
    };
    expect(() => checkPermissions({ deny: ['own(a)'] }, [tool])).toThrow("own doesn't say what its calls touch");
  });
});

describe('An ask rule', () => {
  it('asks whatever allows the call, and is a no where nobody is to be asked', () => {
    const rules = { allow: ['bash'], ask: ['bash(git push:*)'] };
    expect(outcome(rules, shell('git push'))).toBe('ask');
    expect(outcome({ ...rules, mode: 'bypass', allowBypass: true }, shell('git push'))).toBe('ask');
    expect(outcome({ ...rules, mode: 'dontAsk' }, shell('git push'))).toBe('deny');
    expect(outcome({ ...rules, mode: 'plan' }, shell('git push'))).toBe('deny');
    expect(outcome(rules, shell('git status'))).toBe('allow');
  });
});

describe('A hook', () => {
  it('that asks is an ask rule', () => {
    expect(outcome({ allow: ['bash'] }, { ...shell('make'), hookReason: 'why' })).toBe('ask');
    expect(outcome({ deny: ['bash'] }, { ...shell('make'), hookReason: 'why' })).toBe('deny');
  });
});

const RULES = [
  'bash',
  'bash(rm:*)',
  'bash(rm a)',
  'bash(npm test:*)',
  'read_file(src/**)',
  'edit_file(src/**)',
  'edit_file(/etc/**)',
  'fetch(domain:example.com)',
  'own',
  'mcp__a',
  '*',
];
const someRules = fc.array(fc.constantFrom(...RULES), { maxLength: 4 });
const someMode = fc.constantFrom<PermissionMode>(...PERMISSION_MODES);
const someCommand = fc.constantFrom('rm a', 'rm -rf b', 'npm test', 'ls', '/bin/rm a', 'git push');
const somePath = fc.constantFrom('/work/src/a', '/work/.git/x', '/etc/passwd', '/work/b');
const someCall: fc.Arbitrary<CallSubject> = fc
  .tuple(
    fc.oneof(
      fc.array(someCommand, { minLength: 1, maxLength: 3 }).map((commands) => shell(...commands)),
      fc.array(someCommand, { maxLength: 3 }).map((commands) => unclear('?', ...commands)),
      somePath.map((path) => read(path)),
      somePath.map((path) => edit(path)),
      fc.constantFrom('example.com', 'other.org').map(fetching),
      fc.constantFrom(own, call('mcp__a__b', null), call('bash', null, { isUnknown: true })),
    ),
    fc.record({ hookReason: fc.constant('why'), needsApproval: fc.boolean() }, { requiredKeys: [] }),
  )
  .map(([subject, more]) => ({ ...subject, ...more }));
const someOptions = fc.record({ mode: someMode, allow: someRules, ask: someRules, deny: someRules });

const decide = (options: PermissionOptions, subject: CallSubject, session: SessionPermissions | null = null): string =>
  evaluate(policyOf(checked({ ...options, allowBypass: true }), session), subject).outcome;

/** How much an outcome lets happen. */
const freedom = (found: string): number => ['deny', 'ask', 'allow'].indexOf(found);

describe('Whatever the rules, the mode and the call', () => {
  it('a deny rule that is about the call wins, from every source and in every order', () => {
    fc.assert(
      fc.property(someOptions, someCall, fc.nat(3), (options, subject, place) => {
        const rule = subject.toolName;
        const { deny, mode, ...rest } = options;
        const others = { ...rest, mode };
        const update = { type: 'addRules', rules: [rule], behavior: 'deny', destination: 'session' } as const;
        const outcomes = [
          decide({ ...options, deny: [...deny.slice(0, place), rule, ...deny.slice(place)] }, subject),
          decide({ ...others, settings: [{ deny, source: 'localSettings' }, { deny: [rule] }] }, subject),
          decide(
            {
              settings: [
                { deny: [rule], source: 'projectSettings' },
                { ...rest, deny },
              ],
              mode,
            },
            subject,
          ),
          decide(options, subject, applyUpdate(null, update)),
        ];
        expect(outcomes).toEqual(['deny', 'deny', 'deny', 'deny']);
      }),
    );
  });

  it('one more deny rule never lets more happen, and one more allow rule never less', () => {
    fc.assert(
      fc.property(someOptions, someCall, fc.constantFrom(...RULES), (options, subject, rule) => {
        const before = freedom(decide(options, subject));
        expect(freedom(decide({ ...options, deny: [...options.deny, rule] }, subject))).toBeLessThanOrEqual(before);
        expect(freedom(decide({ ...options, allow: [...options.allow, rule] }, subject))).toBeGreaterThanOrEqual(
          before,
        );
      }),
    );
  });

  it('no mode allows what a deny rule forbids in another', () => {
    fc.assert(
      fc.property(someOptions, someCall, someMode, (options, subject, mode) => {
        fc.pre(evaluate(checked({ deny: options.deny }), subject).outcome === 'deny');
        expect(decide({ ...options, mode }, subject)).toBe('deny');
      }),
    );
  });

  it('the order of rules changes nothing', () => {
    fc.assert(
      fc.property(someOptions, someCall, (options, subject) => {
        const { allow, ask, deny } = options;
        const turned = { ...options, allow: allow.toReversed(), ask: ask.toReversed(), deny: deny.toReversed() };
        expect(decide(turned, subject)).toBe(decide(options, subject));
      }),
    );
  });

  it('nothing but a call that changes nothing runs in plan mode, and nothing asks in dontAsk', () => {
    fc.assert(
      fc.property(someOptions, someCall, (options, subject) => {
        const changes = !(subject.access?.readOnly ?? subject.readOnly);
        if (changes) expect(decide({ ...options, mode: 'plan' }, subject)).toBe('deny');
        expect(decide({ ...options, mode: 'dontAsk' }, subject)).not.toBe('ask');
      }),
    );
  });
});
