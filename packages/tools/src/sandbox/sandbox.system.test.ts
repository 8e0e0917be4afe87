// Runs commands in the real bubblewrap, which has to be installed, on a system that lets it work.
import { systemClock, type Tool } from '@treadle/core';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bashTool, type BashToolOptions } from '../bash-tool.ts';
import { readFileTool, writeFileTool } from '../file-tools.ts';
import { deletions } from '../test-support/deletions.ts';
import { call, workspace, type Answer } from '../test-support/workspace.ts';
import { sandboxStatus } from './status.ts';

test('bubblewrap makes sandboxes on this machine', async () => {
  expect(await sandboxStatus()).toMatchObject({ works: true, reason: null });
});

interface Place {
  readonly root: string;
  readonly bash: Tool;
  run(command: string): Promise<Answer>;
  names(): Promise<string[]>;
}

async function place(
  options: Omit<BashToolOptions, 'root'> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<Place> {
  const { root } = await workspace(files);
  const sandbox = typeof options.sandbox === 'string' ? { mode: options.sandbox } : options.sandbox;
  const bash = bashTool({ root, ...options, sandbox: { required: true, ...sandbox } });
  return {
    root,
    bash,
    async run(command) {
      const answer = await call(bash, { command });
      expect(answer.details['sandboxed']).toBe(true);
      return answer;
    },
    names: async () => (await readdir(root)).toSorted(),
  };
}

/** How many processes have `mark` in their command line. */
function running(mark: string): number {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(mark) && !/^\s*\d+\s+Z/.test(line)).length;
}

let marks = 0;
function uniqueSleep(): string {
  marks += 1;
  return `700.${process.pid}${marks}`;
}

describe('a sandboxed command', () => {
  test('changes the working folder, and gives its exit code and both streams', async () => {
    const { root, run } = await place();
    const answer = await run('pwd; echo made > a.txt; echo problem >&2; exit 3');
    expect(answer.text).toBe(`exit code 3\nstdout:\n${root}\nstderr:\nproblem`);
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('made\n');
  });

  test.each([
    'touch /etc/treadle-was-here',
    'touch /usr/treadle-was-here',
    'touch "$HOME/treadle-was-here"',
    'touch ../outside/treadle-was-here',
    'cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern',
    'mount -o remount,rw /',
    'umount .git',
    'unshare -Urm sh -c "mount -o remount,rw / || umount $PWD/.git"',
    'mkdir /sys/fs/cgroup/treadle-was-here',
    'mknod disk b 8 0',
    'echo $$ > /sys/fs/cgroup/pids/cgroup.procs',
    'echo h > /proc/sysrq-trigger',
    'flock -u 9',
    'cp /bin/true x && chmod 4755 x',
    'cp /bin/true x && chmod g+s x',
    'install -m 2755 /bin/true x',
    'perl -e \'use Fcntl; sysopen(F, "x", O_CREAT | O_WRONLY, 04755) or exit 1\'',
    'for fd in /proc/self/fd/*; do test -d "$fd" -a "$fd" != /proc/self/fd/255 && exit 0; done; exit 1',
  ])('can not: %s', async (command) => {
    const { run } = await place({}, { '.git/config': '' });
    expect((await run(command)).details['exitCode']).not.toBe(0);
    expect(existsSync('/etc/treadle-was-here') || existsSync('/usr/treadle-was-here')).toBe(false);
  });

  test('makes files, links, folders and archives as usual', async () => {
    const { run, names } = await place();
    const text = 'umask 022; touch a; chmod 755 a; mkdir b; ln -s a c; cp -p a d; tar cf e a; tar xf e; stat -c %a a d';
    expect((await run(text)).text).toBe('exit code 0\nstdout:\n755\n755\nstderr: (empty)');
    expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('sees nothing of the placeholders in the state of its repository', async () => {
    const { run, root } = await place();
    spawnSync('git', ['init', '-q'], { cwd: root });
    expect((await run('git status --porcelain')).text).toBe('exit code 0\nstdout: (empty)\nstderr: (empty)');
  });

  test('sees no process but its own', async () => {
    const { run } = await place();
    expect(Number((await run('ls -d /proc/[0-9]* | wc -l')).text.split('\n')[2])).toBeLessThan(10);
  });

  test('reaches nobody, and the machine where the setting says so', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const command = `cat < /dev/tcp/127.0.0.1/${port}`;
    const { run } = await place();
    expect((await run(command)).details['exitCode']).not.toBe(0);
    expect((await run('ls -A /run')).text).toContain('stdout: (empty)');
    const open = await place({ sandbox: { network: 'host' } });
    expect((await open.run(command)).text).toContain('hello');
  });

  test('has the environment of the tool, and a place for temporary files of its own', async () => {
    process.env['TREADLE_TEST_TOKEN'] = 'secret-1';
    onTestFinished(() => void delete process.env['TREADLE_TEST_TOKEN']);
    const { run } = await place();
    const { text } = await run('env; ls -A /tmp; echo x > /tmp/treadle-was-here');
    expect(text).not.toContain('secret-1');
    expect(text).toContain('TMPDIR=/tmp');
    expect(existsSync('/tmp/treadle-was-here')).toBe(false);
  });

  test('in mode read-only changes nothing', async () => {
    const { run, names } = await place({ sandbox: 'read-only' }, { 'a.txt': 'a' });
    expect((await run('cat a.txt; rm a.txt')).text).toContain('Read-only file system');
    expect(await names()).toEqual(['a.txt']);
  });

  test('makes links that the file tools do not follow outside', async () => {
    const { root, run } = await place();
    await run('ln -s /etc/passwd link; ln -s /etc folder');
    for (const path of ['link', 'folder/passwd']) {
      expect((await call(readFileTool({ root }), { path })).details['problem']).toBe('outside_root');
    }
  });

  test("makes, asks for and reads none of the kernel's keys", async () => {
    const { run } = await place();
    const [add, request, control] = process.arch === 'arm64' ? [217, 218, 219] : [248, 249, 250];
    // -4 is the keyring of the user; 10 looks for a key there.
    const calls = [`${add}, $t, $d, $d, 1, -4`, `${request}, $t, $d, 0, -4`, `${control}, 10, -4, $t, $d, 0`];
    const tries = calls.map((one) => `print syscall(${one}), " $!\n";`).join(' ');
    const { text } = await run(`LC_ALL=C perl -e 'my ($t, $d) = ("user", "treadle-was-here"); ${tries}'`);
    expect(text.split('\n').filter((line) => line === '-1 Operation not permitted')).toHaveLength(3);
    expect(await readFile('/proc/keys', 'utf8').catch(() => '')).not.toContain('treadle-was-here');
  });

  test('that can not be sandboxed is refused', async () => {
    const { root, bash } = await place();
    await call(bash, { command: 'ln -s a .mcp.json' });
    expect(existsSync(join(root, '.mcp.json'))).toBe(false);
    spawnSync('ln', ['-s', 'a', join(root, '.mcp.json')]);
    expect((await call(bash, { command: 'true' })).details['problem']).toBe('sandbox');
  });
});

test('a command that only reads runs, though the first bash on PATH is one that its sandbox does not show', async () => {
  const { root, outside } = await workspace({ 'a.txt': 'one\n' });
  const own = join(outside, 'bin');
  await mkdir(own);
  await copyFile('/bin/bash', join(own, 'bash'));
  const bash = bashTool({ root, env: { PATH: `${own}:/usr/bin:/bin` } });
  const answer = await call(bash, { command: 'cat a.txt' }, { confined: true });
  expect(answer).toMatchObject({ isError: false, details: { exitCode: 0, sandboxed: true } });
  expect(answer.text).toContain('one');
});

describe('T11: nothing that a command started outlives it', () => {
  test.each([
    ['a daemon', (sleep: string) => `setsid -f sleep ${sleep} >/dev/null 2>&1; echo done`],
    [
      'a daemon that nothing marks: another session, no environment, no output, no parent',
      (sleep: string) => `(env -i setsid sh -c "sleep ${sleep} & exit" >/dev/null 2>&1 </dev/null &) ; echo done`,
    ],
    ['in the background', (sleep: string) => `sleep ${sleep} & echo done`],
  ])('%s', async (_name, command) => {
    const { run } = await place();
    const sleep = uniqueSleep();
    expect((await run(command(sleep))).text).toContain('done');
    expect(running(sleep)).toBe(0);
  });

  test('when it is killed, after it was asked to end', async () => {
    const { run } = await place({ graceMs: 5000 });
    const sleep = uniqueSleep();
    const bash = await place({ timeoutMs: 500, graceMs: 5000 });
    const answer = await bash.run(`trap 'echo cleaned; exit 7' TERM; setsid -f sleep ${sleep}; sleep 600 & wait`);
    expect(answer.text).toContain('cleaned');
    expect(answer.details).toMatchObject({ timedOut: true, exitCode: 7 });
    expect(running(sleep)).toBe(0);
    expect((await run('true')).details['exitCode']).toBe(0);
  });

  test('when it ignores being asked', async () => {
    const sleep = uniqueSleep();
    const { run } = await place({ timeoutMs: 500, graceMs: 200 });
    const answer = await run(`trap '' TERM; while :; do sleep ${sleep}; done`);
    expect(answer.details).toMatchObject({ timedOut: true });
    expect(running(sleep)).toBe(0);
  });

  test.each([
    ['while it runs', true],
    ['while it is being started', false],
  ])('when the runtime itself is killed %s', { timeout: 60_000 }, async (_name, hasBegun) => {
    const { root } = await place();
    const sleep = uniqueSleep();
    const source = `
      import { bashTool } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)};
      const bash = bashTool({ root: ${JSON.stringify(root)}, sandbox: { required: true } });
      await bash.execute({ command: 'touch begun; setsid -f sleep ${sleep}; sleep ${sleep}' },
        { signal: new AbortController().signal, update() {}, progress() {} });`;
    const runtime = spawn(process.execPath, ['--conditions=treadle-source', '--input-type=module', '--eval', source]);
    const ended = once(runtime, 'exit');
    // Its command line is there before the command is.
    await expect
      .poll(() => running(`sleep ${sleep}`) > 1 && (!hasBegun || existsSync(join(root, 'begun'))), {
        timeout: 30_000,
        interval: 1,
      })
      .toBe(true);
    runtime.kill('SIGKILL');
    await ended;
    await expect.poll(() => running(`sleep ${sleep}`), { timeout: 10_000 }).toBe(0);
  });
});

test('T15: a fork bomb is bounded by the limit on processes, and the runtime lives', async () => {
  const maxProcesses = 64;
  const { run } = await place({ denyPatterns: [], sandbox: { maxProcesses }, timeoutMs: 3000, graceMs: 100 });
  const mark = `bomb${process.pid}`;
  let most = 0;
  let over = false;
  const watch = (): void => {
    most = Math.max(most, running(mark));
    if (!over) systemClock.after(200, watch);
  };
  watch();
  const answer = await run(`${mark}() { ${mark} | ${mark} & }; ${mark}; wait; sleep 600`);
  over = true;
  expect(answer.text).toMatch(/fork: (?:retry: )?Resource temporarily unavailable/);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(maxProcesses + 5);
  expect(running(mark)).toBe(0);
  expect((await run('echo alive')).text).toContain('alive');
});

describe('T16: a command that fills its quota fails', () => {
  test('of temporary files', async () => {
    const { run } = await place({ sandbox: { temporaryBytes: 1024 * 1024 } });
    const answer = await run('head -c 5000000 /dev/zero > /tmp/big');
    expect(answer.text).toContain('No space left on device');
    expect(answer.details['exitCode']).toBe(1);
  });

  test('of a file in the working folder', async () => {
    const { root, run } = await place({ sandbox: { maxFileBytes: 1024 * 1024 } });
    const answer = await run('head -c 5000000 /dev/zero > big');
    expect(answer.details['exitCode']).not.toBe(0);
    expect((await stat(join(root, 'big'))).size).toBe(1024 * 1024);
    expect((await run('ls')).details['exitCode']).toBe(0);
  });

  test('of shared memory', async () => {
    const { run } = await place({ sandbox: { temporaryBytes: 1024 * 1024 } });
    expect((await run('head -c 5000000 /dev/zero > /dev/shm/big')).text).toContain('No space left on device');
  });
});

describe('T17: each spelling of the deletion really deletes, and only in the working folder', () => {
  test.each(deletions.map((deletion) => [deletion.name, deletion] as const))('%s', async (_name, deletion) => {
    const { root, run } = await place({ denyPatterns: [] }, { 'victim/file.txt': 'x', 'victim/deep/file.txt': 'x' });
    if (deletion.git === true) expect(spawnSync('git', ['init', '-q', root]).status).toBe(0);
    const answer = await run(deletion.command);
    expect({ answer: answer.text, exists: existsSync(join(root, 'victim')) }).toMatchObject({ exists: false });
  });
});

describe('T21: what decides what runs stays as it is', () => {
  const attacks = [
    'mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit',
    'echo evil >> .git/config',
    'git init -q . ',
    'git config core.fsmonitor evil',
    'echo evil > .git/commondir',
    'mkdir -p .treadle && echo evil > .treadle/settings.json',
    'echo evil > .mcp.json',
    'rm -rf .git .treadle .mcp.json; mkdir .git && echo evil > .git/config',
    'mv .git old; mv .treadle older; mv .mcp.json oldest; mkdir .git && echo evil > .git/config',
    'ln -sfn /tmp .git',
    'ln -sf /tmp/x .mcp.json',
    'cp -r /usr/share/git-core/templates .git/x',
  ];
  const present = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/config': '[core]\n',
    '.git/hooks/pre-commit': 'ours',
    '.treadle/settings.json': '{"ours":1}',
    '.mcp.json': '{"ours":2}',
  };

  test.each(attacks)('when it exists: %s', async (command) => {
    const { root, run, names } = await place({}, present);
    await run(`${command}; true`);
    expect(await names()).toEqual(['.git', '.mcp.json', '.treadle']);
    for (const [path, content] of Object.entries(present))
      expect(await readFile(join(root, path), 'utf8')).toBe(content);
    expect((await readdir(join(root, '.git'))).toSorted()).toEqual(['HEAD', 'config', 'hooks']);
  });

  test('and nothing stays where the working folder was removed while the command ran', async () => {
    const { root, bash } = await place();
    const answer = call(bash, { command: 'touch begun; while [ -e begun ]; do sleep 0.05; done; echo gone' });
    await expect.poll(() => existsSync(join(root, 'begun')), { timeout: 10_000 }).toBe(true);
    await rm(root, { recursive: true });
    expect((await answer).text).toContain('gone');
    expect(existsSync(root)).toBe(false);
  });

  test.each(attacks)('when it does not, and nothing is left there: %s', async (command) => {
    const { run, names } = await place({}, { 'a.txt': '' });
    await run(`${command}; true`);
    expect(await names()).toEqual(['a.txt']);
  });

  test('also while other commands begin and end in the same folder', async () => {
    const { root, run, names } = await place({ execution: 'parallel' });
    const attack =
      'for i in 1 2 3 4 5 6 7 8; do (mkdir .git/hooks || echo evil > .mcp.json) 2>/dev/null && echo broke; sleep 0.1; done';
    const answers = await Promise.all([run(attack), run('true'), run(attack), run('sleep 0.2'), run('true')]);
    for (const { text } of answers) expect(text).not.toContain('broke');
    expect(await names()).toEqual([]);
    expect(existsSync(root)).toBe(true);
  });

  test('and what a runtime that was killed left is cleared away by the next command', async () => {
    const { root, run, names } = await place();
    await mkdir(join(root, '.git'));
    await mkdir(join(root, '.mcp.json'));
    await utimes(join(root, '.git'), 0, 0);
    await utimes(join(root, '.mcp.json'), 0, 0);
    await run('true');
    expect(await names()).toEqual([]);
  });

  test("and what somebody else put there is not: an empty folder of the user's own", async () => {
    const { root, run, names } = await place();
    await mkdir(join(root, '.treadle'));
    await writeFile(join(root, '.mcp.json'), '');
    await run('echo evil > .mcp.json; mkdir .treadle/x; true');
    expect(await names()).toEqual(['.mcp.json', '.treadle']);
    expect(await readFile(join(root, '.mcp.json'), 'utf8')).toBe('');
  });

  test('though the runtime itself keeps long output there', async () => {
    const { run, names } = await place({ keepBytes: 100 });
    expect((await run('seq 1000')).text).toContain('.treadle/output/');
    expect(await names()).toEqual(['.treadle']);
    expect((await run('true')).details['exitCode']).toBe(0);
    expect(await names()).toEqual(['.treadle']);
  });
});

test('no control group of ours is left', async () => {
  const { root, run } = await place();
  await Promise.all([run('true'), run('sleep 0.1 & true')]);
  const left = spawnSync('find', ['/sys/fs/cgroup', '-maxdepth', '6', '-name', `treadle-${process.pid}-*`], {
    encoding: 'utf8',
  });
  expect(left.stdout).toBe('');
  expect((await call(writeFileTool({ root }), { path: 'a.txt', content: 'a' })).isError).toBe(false);
});
