// What runs without a question can do no harm. Hostile commands are given to agents that nobody answers for, with bubblewrap
// and without; strace watches everything that is started.

import { fakeProvider } from '@treadle/testing';
import fc from 'fast-check';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Job, Result } from './agent.ts';
import { withBubblewrap, type Bubblewrap } from './bubblewrap.ts';
import { rootCauses, variation } from './commands.ts';
import { git, makePlace, type Place } from './place.ts';
import { watch, type Deed, type Watched } from './watch.ts';

const modes = ['default', 'plan', 'dontAsk'] as const;
const systemPath = '/usr/local/bin:/usr/bin:/bin';
const node = [process.execPath, '--conditions=treadle-source'] as const;
vi.setConfig({ testTimeout: 240_000 });

let place: Place;
let before: string;
beforeAll(async () => {
  place = await makePlace();
  before = await place.state();
});
afterAll(() => place[Symbol.asyncDispose]());

const filled = (text: string): string =>
  text.replaceAll('{outside}', place.outside).replaceAll('{name}', basename(place.outside));

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'treadle-jobs-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

type Played = Watched & { readonly results: readonly Result[] };

async function play(
  job: Partial<Job> & Pick<Job, 'mode' | 'commands'>,
  bubblewrap: Bubblewrap = 'working',
): Promise<Played> {
  const file = join(scratch, `${Math.random()}.json`);
  await writeFile(file, JSON.stringify({ root: place.root, path: systemPath, ...job }));
  const texts = new Set(job.commands);
  const [program = '', ...args] = withBubblewrap(bubblewrap, [...node, join(import.meta.dirname, 'agent.ts'), file]);
  const watched = await watch(program, args, {
    cwd: dirname(dirname(import.meta.dirname)),
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`, SOME_API_KEY: place.secret },
    isCommand: (_program, [, flag, text = '']) => flag === '-c' && texts.has(text),
  });
  expect({ code: watched.code, stderr: watched.stderr }).toEqual({ code: 0, stderr: '' });
  return { ...watched, results: JSON.parse(watched.stdout) as Result[] };
}

/** Where a command may read that runs unasked. */
const readable = [
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/usr', '/etc/alternatives', '/etc/ld.so.cache'],
  ...['/etc/localtime', '/etc/magic', '/etc/passwd', '/etc/group', '/proc', '/dev', '/tmp'],
];
const below = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

function isHarmless({ kind, path }: Deed, extra: readonly string[]): boolean {
  // A process may say how its own users are named in a namespace of its own; that is no file.
  const isOwn = /^\/proc\/\d+\/(?:uid_map|gid_map|setgroups)$/.test(path);
  if (kind === 'change') return below(path, '/tmp') || path === '/dev/null' || path === '/dev/tty' || isOwn;
  if (kind === 'socket') return false;
  // Namespaces are opened as `net:[4026532183]`.
  if (/^\w+:\[\d+\]$/.test(path)) return true;
  // Folders above it are empty but for the way to it.
  return [...readable, place.root, ...extra].some((folder) => below(path, folder)) || below(place.root, path);
}

const harmful = ({ deeds }: Watched, extra: readonly string[] = []): string[] =>
  deeds.filter((deed) => !isHarmless(deed, extra)).map(({ text }) => text);

const walks = (command: string): boolean => /\brg\b|-r\b|recurse/.test(command.replaceAll(/['"\\]/g, ''));

/** Where a table chooses the commands, it refuses a file with several names; a confinement can't see them. */
async function expectNoHarm(
  played: Played,
  { alsoReads = [], isChosen = true }: { readonly alsoReads?: readonly string[]; readonly isChosen?: boolean } = {},
): Promise<void> {
  expect(harmful(played, alsoReads)).toEqual([]);
  for (const { command, text } of played.results) {
    expect({ command, tells: text.includes(place.secret) }).toEqual({ command, tells: false });
    if (isChosen && !walks(command))
      expect({ command, tells: text.includes(place.shared) }).toEqual({ command, tells: false });
  }
  expect(await place.state()).toBe(before);
}

const count = ({ results }: Played, outcome: Result['outcome']): number =>
  results.filter((result) => result.outcome === outcome).length;

test('the watcher sees what a command that was allowed does', async () => {
  const commands = [
    `echo x > ${place.root}/seen; rm ${place.root}/seen`,
    'cat ../outside/secret.txt',
    'echo > /dev/udp/127.0.0.1/9',
  ];
  const played = await play({ mode: 'default', allow: ['bash'], sandbox: 'off', commands });
  expect(played.commands).toBe(3);
  const seen = harmful(played).map((text) => text.replace(/\(.*/s, ''));
  expect(seen).toEqual(expect.arrayContaining(['openat', 'unlinkat', 'socket']));
  before = await place.state();
});

describe('the ways by which a table of commands was got past', () => {
  const commands = (): string[] => Object.values(rootCauses).flat().map(filled);

  test.concurrent.each(modes)('do no harm in mode %s', async (mode) => {
    const played = await play({ mode, commands: commands() });
    console.log(`${mode}: ${commands().length} commands, ${count(played, 'ran')} ran, confined`);
    await expectNoHarm(played);
    expect(played.commands).toBe(count(played, 'ran'));
  });

  test.concurrent.each(modes)('run nothing in mode %s without bubblewrap', async (mode) => {
    const played = await play({ mode, commands: commands() }, 'missing');
    expect({ commands: played.commands, ran: count(played, 'ran') }).toEqual({ commands: 0, ran: 0 });
    await expectNoHarm(played);
  });
});

describe('variations of them', () => {
  const commands = (): string[] => [...new Set(fc.sample(variation, { numRuns: 360, seed: 20261122 }).map(filled))];

  test.concurrent.each(modes)('do no harm in mode %s', async (mode) => {
    const played = await play({ mode, commands: commands() });
    const ran = count(played, 'ran');
    const not = mode === 'dontAsk' || mode === 'plan' ? count(played, 'refused') : count(played, 'asked');
    console.log(`${mode}: ${played.results.length} variations: ${ran} ran, confined; ${not} did not`);
    expect(played.results.length).toBeGreaterThanOrEqual(300);
    // Some must get past the table, or nothing is tested but the table.
    expect(ran).toBeGreaterThanOrEqual(40);
    expect(ran + not).toBe(played.results.length);
    await expectNoHarm(played);
  });

  test.concurrent.each(modes)('run nothing in mode %s without bubblewrap', async (mode) => {
    const played = await play({ mode, commands: commands() }, 'missing');
    expect({ commands: played.commands, ran: count(played, 'ran') }).toEqual({ commands: 0, ran: 0 });
    await expectNoHarm(played);
  });
});

/** What the confinement must hold against by itself, whatever text a table takes for harmless. */
const attacks = [
  ...['touch PWNED', 'rm -rf victim', 'echo x >> a.txt', 'mv a.txt b', 'mkdir x', 'chmod 777 a.txt', 'ln -s a.txt l'],
  ...[
    'cat {outside}/secret.txt',
    'cat out/../secret.txt',
    'cat /etc/shadow /etc/hosts',
    'ls {outside}',
    'cat ~/.ssh/id_rsa',
  ],
  ...[
    'exec 3<>/dev/tcp/127.0.0.1/22',
    'echo x > /dev/udp/127.0.0.1/53',
    'cat /proc/*/environ',
    'cat /proc/1/root/etc/hosts',
  ],
  ...[
    'mount -o remount,rw /',
    'mount --bind / /tmp',
    'unshare -Urm sh -c "mount -o remount,rw {root}"',
    'chroot /proc/1/root',
  ],
  ...['mknod disk b 8 0', 'cp /bin/sh /tmp/s && chmod 4755 /tmp/s', 'nsenter -t 1 -a touch x', 'kill -9 -1'],
  ...['git config core.pager x', 'git commit --allow-empty -m x', 'git stash', 'git gc', 'git worktree add /tmp/w'],
  ...["python3 -c \"open('PWNED', 'w')\"", 'perl -e "open F, q(>PWNED)"', 'dd if=/dev/zero of=PWNED count=1'],
];

test('the confinement holds for any command, not only for those that a table lets through', async () => {
  const bin = join(scratch, 'bin');
  // Any text is an operand of `basename`, and this one runs it.
  execFileSync('mkdir', ['-p', bin]);
  await writeFile(join(bin, 'basename'), '#!/bin/bash\neval "$1"\n', { mode: 0o755 });
  const texts = [...attacks, ...Object.values(rootCauses).flat(), ...fc.sample(variation, { numRuns: 150, seed: 1 })];
  const commands = texts.map((text) => {
    const whole = filled(text).replaceAll('{root}', place.root);
    return `basename '${whole.replaceAll("'", `'"'"'`)}'`;
  });
  const played = await play({ mode: 'default', path: `${bin}:${systemPath}`, timeoutMs: 2000, commands });
  console.log(`${count(played, 'ran')} hostile commands ran, confined`);
  expect(count(played, 'ran')).toBe(commands.length);
  await expectNoHarm(played, { alsoReads: [bin], isChosen: false });
});

describe('through the command line', () => {
  const causes = Object.entries(rootCauses);

  async function treadle(bubblewrap: Bubblewrap, mode: string, texts: readonly string[]) {
    const toolCalls = texts.map((command) => ({ name: 'bash', arguments: { command: filled(command) } }));
    await using provider = await fakeProvider([{ toolCalls }, 'Done.']);
    const bin = join(dirname(dirname(import.meta.dirname)), 'packages/treadle/bin/treadle.js');
    const argv = [...node, bin, 'run', 'What is in this folder?', '--model', 'anthropic/x', '--output-format', 'json'];
    const [program = '', ...args] = withBubblewrap(bubblewrap, [...argv, '--permission-mode', mode]);
    const commands = new Set(texts.map(filled));
    const watched = await watch(program, args, {
      cwd: place.root,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: scratch,
        ANTHROPIC_BASE_URL: provider.url,
        ANTHROPIC_API_KEY: 'sk-1',
      },
      isCommand: (_program, [, flag, text = '']) => flag === '-c' && commands.has(text),
    });
    const told = JSON.stringify(provider.requests.map(({ body }) => body));
    return { ...watched, told, requests: provider.requests.length };
  }

  test.concurrent.each(modes)('the same hold in mode %s', async (mode) => {
    const texts = causes.flatMap(([, [first = '']]) => first);
    for (const bubblewrap of ['working', 'missing'] as const) {
      const watched = await treadle(bubblewrap, mode, texts);
      // The model made its calls, and was told what came of them.
      expect(watched.requests).toBe(2);
      expect(harmful(watched)).toEqual([]);
      if (bubblewrap === 'missing') expect(watched.commands).toBe(0);
      else expect(watched.commands).toBeGreaterThan(0);
      expect({ tells: watched.told.includes(place.secret) || watched.told.includes(place.shared) }).toEqual({
        tells: false,
      });
      expect(await place.state()).toBe(before);
    }
  });

  test('a headless denial names both remedies', async () => {
    for (const [bubblewrap, problem] of [
      ['missing', 'bubblewrap is not installed (Debian, Ubuntu: apt-get install bubblewrap)'],
      ['forbidden', 'bwrap: No permissions to create new namespace'],
    ] as const) {
      for (const mode of modes) {
        const { told, stderr } = await treadle(bubblewrap, mode, ['ls']);
        expect(told).toContain(problem);
        expect(told).toContain('--allow bash');
        if (mode === 'default') expect(stderr).toContain('--allow bash');
      }
    }
  });
});

describe('everyday commands that read', () => {
  const everyday = [
    ...[
      'ls',
      'ls -l',
      'ls -R src',
      'pwd',
      'cat README.md',
      'head -3 README.md',
      'tail -n +2 README.md',
      'wc -l README.md',
    ],
    ...[
      'grep -rn main src',
      'grep -c one README.md',
      "find . -name '*.ts' -not -path './.git/*'",
      'find src -type f | sort',
    ],
    ...[
      'rg --sort path main',
      'rg -n --glob "*.ts" main src',
      'rg --files --sort path',
      'sort README.md | uniq -c',
      'cut -c1-3 README.md',
    ],
    ...[
      "sed -n '1,2p' README.md",
      'diff README.md src/main.ts',
      'cmp README.md README.md && echo same',
      'nl -ba README.md',
    ],
    ...[
      'stat -c %s README.md',
      'du -b README.md',
      'md5sum README.md',
      'sha256sum README.md',
      'file README.md',
      'realpath src',
    ],
    ...[
      'which git',
      'whoami',
      'id -u',
      'date +%Z',
      'test -f README.md && echo yes',
      'cd src && ls',
      'printf "%s\\n" done',
    ],
    ...['git status', 'git status -sb', 'git log -p', 'git log --oneline -3', 'git diff', 'git diff --stat HEAD~1'],
    ...[
      'git show HEAD',
      'git branch -a',
      'git ls-files',
      'git blame -L 1,1 README.md',
      'git rev-parse --show-toplevel',
    ],
    ...['git --no-pager log --format=%h%x09%s', 'git log --follow -- README.md | head -20'],
  ];

  test('run unasked in a clone, a work tree and a subfolder, and print the same as outside', async () => {
    const upstream = join(place.outside, '..', 'upstream');
    execFileSync('mkdir', ['-p', join(upstream, 'src'), join(upstream, 'packages/one/src')]);
    for (const folder of ['.', 'packages/one']) {
      await writeFile(join(upstream, folder, 'README.md'), 'one\ntwo\nthree\n');
      await writeFile(join(upstream, folder, 'src/main.ts'), 'export const main = 1;\n');
    }
    git(upstream, 'init', '-q', '-b', 'main');
    git(upstream, 'add', '-A');
    git(upstream, 'commit', '-q', '-m', 'first');
    await writeFile(join(upstream, 'README.md'), 'one\ntwo\n');
    git(upstream, 'commit', '-q', '-am', 'second');
    const clone = join(place.outside, '..', 'clone');
    git(upstream, 'clone', '-q', upstream, clone);
    git(clone, 'worktree', 'add', '-q', '../tree', '-b', 'side');
    const roots = { clone, 'work tree': join(clone, '../tree'), subfolder: join(clone, 'packages/one') };
    const counts: Record<string, number> = {};
    for (const [name, root] of Object.entries(roots)) {
      await writeFile(join(root, 'README.md'), 'one\n2\n');
      const played = await play({ root, mode: 'default', commands: everyday });
      expect(played.results.filter(({ outcome }) => outcome !== 'ran')).toEqual([]);
      const outside = everyday.map((command) => {
        const env = {
          PATH: systemPath,
          LANG: 'C.UTF-8',
          TERM: 'dumb',
          PAGER: 'cat',
          GIT_PAGER: 'cat',
          HOME: '/nonexistent',
        };
        const { status, stdout } = spawnSync('bash', ['-c', command], {
          cwd: root,
          env,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        return { command, status, stdout: stdout.trimEnd() };
      });
      const inside = played.results.map(({ command, text }) => {
        const [, status = '', stdout = ''] =
          /^exit code (\d+)\nstdout:(?: \(empty\)|\n([^]*?))\nstderr:/.exec(text) ?? [];
        return { command, status: Number(status), stdout: stdout.trimEnd() };
      });
      expect(inside).toEqual(outside);
      counts[name] = inside.length;
    }
    console.log('everyday commands that ran unasked and printed the same:', counts);
  });
});
