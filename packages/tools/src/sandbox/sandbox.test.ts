import { systemClock } from '@treadle/core';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bashTool } from '../bash-tool.ts';
import { call, workspace } from '../test-support/workspace.ts';
import { sandboxArguments, type SandboxPlan } from './arguments.ts';
import type { HelperCommand, HelperEnd, SandboxParts } from './parts.ts';
import { protectionsOf } from './protect.ts';
import { openSandbox, type Sandbox } from './sandbox.ts';
import { sandboxSettings, type SandboxOptions } from './settings.ts';

interface Machine {
  readonly parts: SandboxParts;
  readonly started: HelperCommand[];
  readonly groups: { made: number; removed: number };
}

/** What the probe's attempts could do where they are free, and where they are confined. */
interface Attempts {
  readonly free: string;
  readonly confined: string;
}

/** Every attempt succeeds where it is free, and none where it is confined. */
const refused: Attempts = { free: 'tried: write read socket secret', confined: 'tried:' };

/** A machine on which programs are only noted. `answer` says how the command of the probe ends. */
function machine(
  changes: Partial<SandboxParts> = {},
  answer?: (command: HelperCommand) => HelperEnd,
  attempts: Attempts = refused,
): Machine {
  const reading = async ({ args, folder }: HelperCommand): Promise<HelperEnd> => {
    if (args.includes('--chdir')) return { exitCode: 0, output: attempts.confined, errors: '' };
    for (const name of ['new', '../new']) await writeFile(join(folder, name), 'x');
    return { exitCode: 0, output: attempts.free, errors: '' };
  };
  const started: HelperCommand[] = [];
  const groups = { made: 0, removed: 0 };
  const parts: SandboxParts = {
    platform: 'linux',
    isAdministrator: true,
    find: (name) => Promise.resolve(`/usr/bin/${name}`),
    makeProcessGroup: () => {
      groups.made += 1;
      const remove = (): Promise<void> => {
        groups.removed += 1;
        return Promise.resolve();
      };
      return Promise.resolve({ joinFile: '/groups/one/cgroup.procs', remove });
    },
    async run(command) {
      started.push(command);
      if (command.args.some((arg) => arg.includes('tried:'))) return reading(command);
      // Only the sandbox itself changes its folder; what else is run takes placeholders away.
      if (!command.args.includes('--chdir')) return { exitCode: 0, output: '', errors: '' };
      const root = command.args[command.args.indexOf('--chdir') + 1] ?? '';
      await writeFile(join(root, 'inside'), 'x');
      return answer?.(command) ?? { exitCode: 0, output: 'the sandbox holds\n', errors: '' };
    },
    ...changes,
  };
  return { parts, started, groups };
}

const open = (root: string, { parts }: Machine, options: SandboxOptions = {}): Sandbox =>
  openSandbox(root, sandboxSettings(options), parts, systemClock);

describe('whether there is a sandbox', () => {
  test('is found out by running a command in one, once for a process', async () => {
    const one = machine();
    const { root } = await workspace();
    const statuses = [open(root, one), open(root, one)].map((sandbox) => sandbox.status());
    expect(await Promise.all(statuses)).toEqual(
      [0, 1].map(() => ({
        works: true,
        reason: null,
        program: '/usr/bin/bwrap',
        processLimit: 'cgroup',
        reading: { works: true, reason: null },
      })),
    );
    // One that may write, and one that may only read.
    expect(one.started.filter(({ args }) => args.includes('--die-with-parent'))).toHaveLength(2);
    expect(one.groups.removed).toBe(one.groups.made);
  });

  test.each<[string, Machine, RegExp]>([
    ['on another system', machine({ platform: 'darwin' }), /runs on Linux only/],
    ['without bubblewrap', machine({ find: () => Promise.resolve(undefined) }), /apt-get install bubblewrap/],
    [
      'without flock',
      machine({ find: (name) => Promise.resolve(name === 'flock' ? undefined : '/usr/bin/bwrap') }),
      /flock or setpriv is missing/,
    ],
    [
      'where the administrator can not limit processes',
      machine({ makeProcessGroup: () => Promise.resolve(undefined) }),
      /processes can not be limited/,
    ],
    [
      'where the system forbids it, in its own words',
      machine({}, () => ({ exitCode: 1, output: '', errors: 'bwrap: setting up uid map: Permission denied\n' })),
      /exit code 1\): bwrap: setting up uid map: Permission denied$/,
    ],
    [
      'where the command could write what it must not',
      machine({}, () => ({ exitCode: 1, output: 'it can write into .git', errors: '' })),
      /it can write into \.git/,
    ],
    [
      'where the command did not say that it holds',
      machine({}, () => ({ exitCode: 0, output: '', errors: '' })),
      /said nothing/,
    ],
    ['where nothing starts', machine({ run: () => Promise.reject(new Error('spawn EPERM')) }), /spawn EPERM/],
  ])('no: %s', async (_name, one, reason) => {
    const { root } = await workspace();
    const sandbox = open(root, one);
    expect(await sandbox.status()).toMatchObject({ works: false, reason: expect.stringMatching(reason) });
    await expect(sandbox.wrap(['/bin/true'])).rejects.toMatchObject({ code: 'sandbox' });
  });

  test.each<[string, Attempts, RegExp]>([
    ['a write', { ...refused, confined: 'tried: write' }, /went wrong: exit code 0, tried: write$/],
    ['a read outside', { ...refused, confined: 'tried: read' }, /tried: read$/],
    ['a socket', { ...refused, confined: 'tried: socket' }, /tried: socket$/],
    ['an inherited secret', { ...refused, confined: 'tried: secret' }, /tried: secret$/],
    ['everything, for nothing ran', { ...refused, confined: '' }, /no output$/],
    [
      'a socket that can not be made anywhere',
      { ...refused, free: 'tried: write read secret' },
      /can not be tried out/,
    ],
  ])('commands are not confined to reading where %s is not seen to be refused', async (_name, attempts, reason) => {
    const { root } = await workspace();
    const status = await open(root, machine({}, undefined, attempts)).status();
    expect(status).toMatchObject({ works: true, reading: { works: false, reason: expect.stringMatching(reason) } });
  });

  test('a user who is not the administrator is limited from within', async () => {
    const one = machine({ isAdministrator: false, makeProcessGroup: () => Promise.resolve(undefined) });
    const { root } = await workspace();
    const sandbox = open(root, one, { maxProcesses: 77 });
    expect(await sandbox.status()).toMatchObject({ works: true, processLimit: 'rlimit' });
    expect((await sandbox.wrap(['/bin/true'])).args).toEqual(expect.arrayContaining(['sh', '77', '/bin/true']));
  });

  test('without a limit on processes there is none', async () => {
    const one = machine({ makeProcessGroup: () => Promise.resolve(undefined) });
    const { root } = await workspace();
    expect(await open(root, one, { maxProcesses: null }).status()).toMatchObject({ works: true, processLimit: 'none' });
  });
});

describe('the arguments of bubblewrap', () => {
  const plan = (settings: SandboxOptions = {}, more: Partial<SandboxPlan> = {}): string =>
    ` ${sandboxArguments({
      program: '/usr/bin/bwrap',
      root: '/work/folder',
      settings: sandboxSettings(settings),
      protections: [{ path: '/work/folder/.git', needsPlaceholder: false }],
      isAdministrator: false,
      processLimit: undefined,
      command: ['/bin/bash', '-c', 'ls'],
      ...more,
    }).join(' ')} `;

  test('keep everything read-only but the working folder, and in it what is protected', () => {
    const text = plan();
    const order = [
      '--ro-bind / /',
      '--bind /work/folder /work/folder',
      '--ro-bind /work/folder/.git /work/folder/.git',
    ];
    const places = order.map((part) => text.indexOf(` ${part} `));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(text).toMatch(/ -- \/bin\/bash -c ls $/);
  });

  test('make processes end with ours, in namespaces of their own', () => {
    for (const flag of ['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-net', '--new-session']) {
      expect(plan()).toContain(` ${flag} `);
    }
    expect(plan({ network: 'host' })).not.toContain('--unshare-net');
  });

  test('take every right away, and leave the administrator those over files', () => {
    expect(plan()).toContain(' --cap-drop ALL ');
    expect(plan()).not.toContain('--cap-add');
    expect(plan({}, { isAdministrator: true }).match(/--cap-add \w+/g)).toEqual([
      '--cap-add CAP_DAC_OVERRIDE',
      '--cap-add CAP_CHOWN',
      '--cap-add CAP_FOWNER',
    ]);
  });

  test('in mode read-only let nothing be written', () => {
    const text = plan({ mode: 'read-only', writable: ['/cache'] });
    expect(text).toContain(' --ro-bind /work/folder /work/folder ');
    expect(text).not.toMatch(/ --bind /);
  });

  test('let further folders be written, and bound what is temporary', () => {
    const text = plan({ writable: ['/cache'], temporaryBytes: 1000 });
    expect(text).toContain(' --bind /cache /cache ');
    expect(text).toContain(' --size 1000 --tmpfs /tmp ');
  });
});

describe('names that are protected', () => {
  test('need a placeholder when there is nothing, or what another sandbox may have put there', async () => {
    const { root } = await workspace({ '.git/config': '', 'full.json': '{}', 'empty.json': '' });
    await mkdir(join(root, 'empty'));
    const names = ['.git', 'full.json', 'empty.json', 'empty', '.treadle', '.mcp.json'];
    const found = await protectionsOf(root, names);
    expect(found.map(({ needsPlaceholder }) => needsPlaceholder)).toEqual([false, false, false, true, true, true]);
  });

  test('are refused as links, which can not be held in their place', async () => {
    const { root, outside } = await workspace();
    await symlink(outside, join(root, '.git'));
    await expect(protectionsOf(root, ['.git'])).rejects.toMatchObject({ code: 'sandbox' });
  });

  test('of other programs may be links, which are left unprotected', async () => {
    const { root, outside } = await workspace({ '.agents/skills/a/SKILL.md': '' });
    await symlink(outside, join(root, '.claude'));
    expect(await protectionsOf(root, ['.claude', '.agents'])).toEqual([
      { path: join(root, '.agents'), needsPlaceholder: false },
    ]);
  });

  test('that exist cost no lock and nothing to clear away', async () => {
    const one = machine();
    const { root } = await workspace({
      '.git/config': '',
      '.treadle/settings.json': '{}',
      '.claude/a': '',
      '.agents/a': '',
      '.mcp.json': '{}',
    });
    const { args, release } = await open(root, one).wrap(['/bin/true']);
    const before = one.started.length;
    expect(args).not.toContain('--sync-fd');
    await release();
    expect(one.started).toHaveLength(before);
  });

  test('that do not are held under a lock, and let go of afterwards', async () => {
    const one = machine();
    const { root } = await workspace({ '.git/config': '' });
    const { args, release } = await open(root, one).wrap(['/bin/true']);
    expect(args).toEqual(expect.arrayContaining(['--sync-fd', '4', `${root}/.treadle`, `${root}/.mcp.json`]));
    await release();
    expect(one.started.at(-1)?.args).toEqual(
      expect.arrayContaining([expect.stringContaining('--exclusive'), `${root}/.treadle`, `${root}/.mcp.json`]),
    );
  });
});

describe('settings', () => {
  test.each<[SandboxOptions, string]>([
    [{ mode: 'on' as 'off' }, 'mode is "on"'],
    [{ network: 'some' as 'none' }, 'network is "some"'],
    [{ mode: 'off', required: true }, 'it is required and off'],
    [{ maxProcesses: 0 }, 'maxProcesses must be'],
    [{ maxFileBytes: 1.5 }, 'maxFileBytes must be'],
    [{ readOnlyNames: ['a/b'] }, 'readOnlyNames has "a/b"'],
    [{ readOnlyNames: ['..'] }, 'readOnlyNames has ".."'],
    [{ writable: ['cache'] }, 'writable has "cache"'],
  ])('%j is refused', (options, message) => {
    expect(() => sandboxSettings(options)).toThrow(message);
  });

  test('the whole file system is no working folder', async () => {
    await expect(open('/', machine()).wrap(['/bin/true'])).rejects.toThrow('the whole file system');
  });
});

describe('bash without a sandbox that works', () => {
  const broken = machine({ find: () => Promise.resolve(undefined) });

  test('refuses commands when one is required', async () => {
    const { root } = await workspace();
    const bash = bashTool({ root, sandbox: { required: true }, sandboxParts: broken.parts });
    const answer = await call(bash, { command: 'touch made' });
    expect(answer).toMatchObject({ isError: true, details: { problem: 'sandbox' } });
    expect(answer.text).toContain('bubblewrap is not installed');
    expect(await readdir(root)).toEqual([]);
  });

  test('says of a command that it only reads as long as it can be confined', async () => {
    const { root } = await workspace();
    const access = async (parts: SandboxParts): Promise<unknown> =>
      bashTool({ root, sandboxParts: parts }).access?.({ command: 'ls' });
    expect(await access(machine().parts)).toMatchObject({ readOnly: true, confined: true });
    const reason =
      'commands that only read run unasked in a sandbox, and bubblewrap is not installed ' +
      '(Debian, Ubuntu: apt-get install bubblewrap). Without one, allow them by a rule (--allow bash)';
    expect(await access(broken.parts)).toEqual({
      folder: root,
      commands: { text: 'ls', plain: [{ words: ['ls'] }], named: [['ls']] },
      paths: [],
      readOnly: false,
      reason,
    });
  });

  test('does not run a confined command that does more than read by now', async () => {
    const { root } = await workspace();
    const bash = bashTool({ root, sandboxParts: machine().parts });
    const answer = await call(bash, { command: 'touch made' }, { confined: true });
    expect(answer).toMatchObject({ isError: true, details: { problem: 'sandbox' } });
    expect(answer.text).toContain('touch made is not known to change nothing');
  });

  test('never says that a sandbox contains the command, though that would be enough', async () => {
    const { root } = await workspace();
    const access = async (parts: SandboxParts, sufficient: boolean): Promise<unknown> =>
      bashTool({ root, sandbox: { sufficient }, sandboxParts: parts }).access?.({ command: 'touch made' });
    expect(await access(broken.parts, true)).toMatchObject({ readOnly: false });
    expect(await access(broken.parts, true)).not.toHaveProperty('contained');
    expect(await access(machine().parts, true)).toMatchObject({ readOnly: false, contained: true });
    expect(await access(machine().parts, false)).not.toHaveProperty('contained');
  });
});

test('a placeholder that a killed process left is one again', async () => {
  const { root } = await workspace();
  await mkdir(join(root, '.mcp.json'));
  expect(await protectionsOf(root, ['.mcp.json'])).toMatchObject([{ needsPlaceholder: true }]);
});
