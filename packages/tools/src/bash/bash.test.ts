import type { Tool } from '@treadle/core';
import { spawnSync } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { bashTool, type BashToolOptions } from '../bash-tool.ts';
import { readFileTool } from '../file-tools.ts';
import { call, workspace } from '../test-support/workspace.ts';

async function tool(options: Omit<BashToolOptions, 'root'> = {}): Promise<{ root: string; bash: Tool }> {
  const { root } = await workspace();
  return { root, bash: bashTool({ root, graceMs: 100, sandbox: 'off', ...options }) };
}

const linux = process.platform === 'linux';

/** How many processes have `mark` in their command line. */
function running(mark: string): number {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(mark) && !/^\s*\d+\s+Z/.test(line)).length;
}

/** A duration for `sleep` that no other process uses. */
let marks = 0;
function uniqueSleep(): string {
  marks += 1;
  return `600.${process.pid}${marks}`;
}

describe('a command', () => {
  test('runs in the root folder and gives exit code and both streams', async () => {
    const { root, bash } = await tool();
    const answer = await call(bash, { command: 'pwd; echo problem >&2; exit 3' });
    expect(answer.text).toBe(`exit code 3\nstdout:\n${root}\nstderr:\nproblem`);
    expect(answer.isError).toBe(false);
    expect(answer.details).toMatchObject({
      exitCode: 3,
      signal: null,
      timedOut: false,
      stdoutBytes: root.length + 1,
      stderrBytes: 8,
      spillFiles: [],
    });
    expect(answer.details['durationMs']).toBeGreaterThanOrEqual(0);
  });

  test('that prints nothing says so', async () => {
    const { bash } = await tool();
    expect((await call(bash, { command: 'true' })).text).toBe('exit code 0\nstdout: (empty)\nstderr: (empty)');
  });

  test('that ends by a signal names it', async () => {
    const { bash } = await tool();
    const answer = await call(bash, { command: 'kill -SEGV $$' });
    expect(answer.text).toContain('exit code none (SIGSEGV)');
    expect(answer.details).toMatchObject({ exitCode: null, signal: 'SIGSEGV', timedOut: false });
  });

  test('T13: finds standard input closed', async () => {
    const { bash } = await tool();
    const answer = await call(bash, { command: 'cat; read -r line; echo "read gave $?"' });
    expect(answer.text).toContain('stdout:\nread gave 1');
  });

  test('streams its output while it runs', async () => {
    const { bash } = await tool();
    const partial: unknown[] = [];
    await call(
      bash,
      { command: 'echo first; sleep 0.7; echo second; sleep 0.1' },
      { onUpdate: (one) => partial.push(one) },
    );
    expect(partial.join('')).toContain('first');
  });

  test('shows what it has printed, also when it says nothing more', async () => {
    const { bash } = await tool();
    const stop = new AbortController();
    const partial: unknown[] = [];
    const onUpdate = (one: unknown): void => {
      partial.push(one);
      stop.abort();
    };
    const answer = await call(bash, { command: 'echo ready; exec sleep 600' }, { onUpdate, signal: stop.signal });
    expect(partial).toEqual(['ready\n']);
    expect(answer.text).toContain('[aborted');
  });

  test('is refused when empty, with a NUL, or after an abort', async () => {
    const { bash } = await tool();
    expect((await call(bash, { command: '  ' })).details['problem']).toBe('bad_request');
    expect((await call(bash, { command: 'echo a\0b' })).details['problem']).toBe('bad_request');
    expect((await call(bash, { command: 'echo' }, { signal: AbortSignal.abort() })).details['problem']).toBe('aborted');
  });

  test('that is too long to start, or has no shell, is an error result', async () => {
    const { bash } = await tool();
    expect((await call(bash, { command: `echo ${'x'.repeat(4_000_000)}` })).details['problem']).toBe('io');
    const { bash: none } = await tool({ env: { PATH: '/nonexistent' } });
    expect((await call(none, { command: 'true' })).text).toContain('neither bash nor sh');
  });

  test('runs in sh where there is no bash', async () => {
    const { bash } = await tool({ shell: '/bin/sh' });
    expect((await call(bash, { command: 'echo $0' })).text).toContain('/bin/sh');
  });

  test('is never found in the root: a planted bash does not run', async () => {
    const { root, put } = await workspace();
    await put('root/bin/bash', '#!/bin/sh\necho planted\n', 0o755);
    const bash = bashTool({
      root,
      sandbox: 'off',
      env: { PATH: `${join(root, 'bin')}:bin::${process.env['PATH'] ?? ''}` },
    });
    expect((await call(bash, { command: 'echo real' })).text).toContain('real');
  });
});

describe('the environment', () => {
  test('is passed on without what looks like a secret', async () => {
    const names = ['TREADLE_TEST_API_KEY', 'TREADLE_TEST_TOKEN', 'TREADLE_TEST_DB', 'TREADLE_TEST_PLAIN'];
    const values = ['secret-1', 'secret-2', 'postgres://user:secret-3@host/db', 'plain-4'];
    try {
      for (const [index, name] of names.entries()) process.env[name] = values[index];
      const { bash } = await tool();
      const { text } = await call(bash, { command: 'env' });
      expect(text).toContain('plain-4');
      expect(text).not.toContain('secret-');
      expect(text).toContain('PAGER=cat');
    } finally {
      for (const name of names) delete process.env[name];
    }
  });

  test('is the one given, when one is', async () => {
    const { bash } = await tool({ env: { PATH: process.env['PATH'] ?? '', MY_TOKEN: 'on purpose' } });
    expect((await call(bash, { command: 'echo "$MY_TOKEN$PAGER"' })).text).toContain('stdout:\non purpose\n');
  });
});

describe('a command that does not end', () => {
  test('is killed with its children after its timeout', async () => {
    const { bash } = await tool();
    const sleep = uniqueSleep();
    const answer = await call(bash, { command: `echo begun; sleep ${sleep} & sleep ${sleep}`, timeout_ms: 200 });
    expect(answer.isError).toBe(false);
    expect(answer.details).toMatchObject({ exitCode: null, timedOut: true });
    expect(answer.text).toContain('[timed out after 0.2 s: the command and the processes it started were killed]');
    expect(answer.text).toContain('stdout:\nbegun');
    expect(running(sleep)).toBe(0);
  });

  test('is killed even when it ignores SIGTERM', async () => {
    const { bash } = await tool();
    const sleep = uniqueSleep();
    const command = `trap '' TERM; while :; do sleep ${sleep}; done`;
    const answer = await call(bash, { command, timeout_ms: 200 });
    expect(answer.details).toMatchObject({ timedOut: true, signal: 'SIGKILL' });
    expect(running(sleep)).toBe(0);
  });

  test('may clean up on SIGTERM', async () => {
    const { bash } = await tool({ graceMs: 5000 });
    const answer = await call(bash, { command: `trap 'echo cleaned; exit 7' TERM; sleep 600 & wait`, timeout_ms: 200 });
    expect(answer.text).toContain('cleaned');
    expect(answer.details).toMatchObject({ exitCode: 7, timedOut: true });
  });

  test('is killed when the call is aborted, and that is an error', async () => {
    const { bash } = await tool();
    const sleep = uniqueSleep();
    const abort = new AbortController();
    const call1 = call(bash, { command: `echo begun; sleep ${sleep}` }, { signal: abort.signal });
    await vi.waitUntil(() => running(sleep) > 0, { timeout: 20_000 });
    abort.abort();
    const answer = await call1;
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain('[aborted');
    expect(answer.text).toContain('begun');
    expect(running(sleep)).toBe(0);
  });

  test('may not ask for more time than the maximum', async () => {
    const { bash } = await tool({ timeoutMs: 100, maxTimeoutMs: 200 });
    const answer = await call(bash, { command: 'sleep 600', timeout_ms: 60_000 });
    expect(answer.text).toContain('[timeout_ms was lowered to the maximum, 200]');
    expect(answer.details['timedOut']).toBe(true);
  });
});

describe.runIf(linux)('T11: what a command leaves running is found and ended', () => {
  test.each([
    ['in the background', (sleep: string) => `sleep ${sleep} & echo done`],
    [
      'in the background, detached from its output',
      (sleep: string) => `nohup sleep ${sleep} >/dev/null 2>&1 & echo done`,
    ],
    ['as a daemon in its own session', (sleep: string) => `setsid -f sleep ${sleep} >/dev/null 2>&1; echo done`],
    [
      'as a daemon that changed folder and lost its parent twice',
      (sleep: string) => `(cd / && setsid sh -c "setsid sleep ${sleep} >/dev/null 2>&1 &" &) ; echo done`,
    ],
    ['in its own process group', (sleep: string) => `set -m; sleep ${sleep} >/dev/null & echo done`],
    [
      'with an empty environment, in the session',
      (sleep: string) => `env -i sleep ${sleep} >/dev/null 2>&1 & echo done`,
    ],
    [
      'as a daemon with an empty environment that keeps the output',
      (sleep: string) => `env -i setsid -f sleep ${sleep}; echo done`,
    ],
    [
      'as a daemon that ignores SIGTERM',
      (sleep: string) => `setsid -f sh -c "trap '' TERM; sleep ${sleep}; sleep ${sleep}" >/dev/null 2>&1; echo done`,
    ],
  ])('%s', async (_name, command) => {
    const { bash } = await tool();
    const sleep = uniqueSleep();
    const answer = await call(bash, { command: command(sleep) });
    expect(answer.text).toContain('stdout:\ndone');
    expect(answer.text).toMatch(/^\[\d+ background process(?:es were| was) ended\]$/m);
    expect(running(sleep)).toBe(0);
  });

  test('also when it is killed', async () => {
    const { bash } = await tool();
    const sleep = uniqueSleep();
    await call(bash, { command: `setsid -f sleep ${sleep} >/dev/null 2>&1; sleep ${sleep}`, timeout_ms: 200 });
    expect(running(sleep)).toBe(0);
  });

  test('but output that is still being written when the shell ends is waited for', async () => {
    const { bash } = await tool();
    expect((await call(bash, { command: 'echo late > >(sleep 0.05; cat)' })).text).toContain('late');
  });
});

describe('long output', () => {
  test('T4: is cut in the middle; the whole is in a file that read_file reads', async () => {
    const { root, bash } = await tool();
    const answer = await call(bash, { command: 'seq 1 100000' });
    const [path] = answer.details['spillFiles'] as string[];
    const bytes = Number(answer.details['stdoutBytes']);
    expect(answer.text.length).toBeLessThan(256 * 1024 + 500);
    expect(answer.text).toContain(
      `[… ${bytes - 256 * 1024} bytes left out: the whole output is in ${path}, which read_file can read …]`,
    );
    expect(answer.text).toMatch(/^exit code 0\nstdout:\n1\n2\n3\n/);
    expect(answer.text).toMatch(/\n99999\n100000\nstderr: \(empty\)$/);
    const expected = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join('');
    expect(await readFile(join(root, String(path)), 'utf8')).toBe(expected);
    expect((await stat(join(root, String(path)))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(root, '.treadle/output/.gitignore'), 'utf8')).toBe('*\n');
    const read = await call(readFileTool({ root }), { path: String(path), offset: 50_000, limit: 1 });
    expect(read.text).toContain('50000\t50000');
  });

  test('up to the limit is shown whole, without a file', async () => {
    const { root, bash } = await tool({ keepBytes: 1000 });
    const answer = await call(bash, { command: `printf 'x%.0s' $(seq 1000)` });
    expect(answer.text).toContain(`stdout:\n${'x'.repeat(1000)}\nstderr`);
    expect(await readdir(root)).toEqual([]);
  });

  test('both streams have their own limit and file', async () => {
    const { bash } = await tool({ keepBytes: 100 });
    const answer = await call(bash, { command: 'seq 1 1000; seq 1 2000 >&2' });
    expect(answer.details['spillFiles']).toHaveLength(2);
    expect(answer.details).toMatchObject({ stdoutBytes: 3893, stderrBytes: 8893 });
  });

  test.each([
    ['yes', 'yes'],
    ['zeros', 'cat /dev/zero'],
    ['noise', 'cat /dev/urandom'],
    ['one endless line on stderr', `tr '\\0' x < /dev/zero >&2`],
  ])('T12: without end is killed at the byte cap: %s', { timeout: 60_000 }, async (_name, command) => {
    const { root, bash } = await tool({ maxOutputBytes: 20 * 1024 * 1024 });
    const before = process.memoryUsage.rss();
    const answer = await call(bash, { command });
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
    expect(answer.text).toContain('[killed: it printed more than 20971520 bytes]');
    expect(answer.text).toContain('the first 20971520 bytes are in .treadle/output/');
    expect(answer.details).toMatchObject({ outputLimitReached: true, exitCode: null });
    const [path] = answer.details['spillFiles'] as string[];
    expect((await stat(join(root, String(path)))).size).toBe(20 * 1024 * 1024);
    expect(answer.text.length).toBeLessThan(300 * 1024);
  });

  test('that can not be kept is still shown at both ends', async () => {
    const { root, put } = await workspace();
    await put('root/.treadle', 'a file in the way');
    const answer = await call(bashTool({ root, sandbox: 'off', keepBytes: 100 }), { command: 'seq 1 1000' });
    expect(answer.isError).toBe(false);
    expect(answer.text).toContain('could not be kept');
    expect(answer.text).toContain('\n1000\n');
    expect(answer.details['spillFiles']).toEqual([]);
  });
});

describe('T5: output that is not text', () => {
  test.each([
    ['terminal sequences', `printf '\\033[31mred\\033[0m \\033]0;title\\007plain'`, 'red plain'],
    ['NUL and other controls', `printf 'a\\000b\\001c\\177'`, 'a␀b␁c␡'],
    ['invalid UTF-8', `printf 'a\\377b'`, 'a\ufffdb'],
    ['an encoded surrogate', `printf '\\355\\240\\200'`, '\ufffd\ufffd\ufffd'],
    ['CRLF and carriage returns', `printf 'a\\r\\nb\\rc'`, 'a\nb\nc'],
    ['many NULs', 'head -c 1000 /dev/zero', '␀(×1000)'],
  ])('%s', async (_name, command, shown) => {
    const { bash } = await tool();
    expect((await call(bash, { command })).text).toBe(`exit code 0\nstdout:\n${shown}\nstderr: (empty)`);
  });

  test('characters and sequences at the cut are not broken', async () => {
    const { bash } = await tool({ keepBytes: 20 });
    const { text } = await call(bash, { command: `printf 'é%.0s' $(seq 100)` });
    expect(text).not.toContain('\ufffd');
    const cut = await call(bash, { command: `printf '1234567\\033[31;1mred%.0s' $(seq 100)` });
    expect(cut.text.split('\n')[2]).toBe('1234567');
  });
});

describe('deny patterns', () => {
  test.each([
    'rm -rf /',
    'rm -fr /',
    'sudo rm -r -f /',
    'rm -rf /*',
    'rm  -rf   "/"',
    'rm --recursive --force /',
    'rm -rf --no-preserve-root /',
    'rm -rf ~',
    'rm -rf $HOME/',
    'rm -rf foo /',
    'true && rm -rf / ; echo',
    'mkfs.ext4 /dev/sda1',
    'mkfs /dev/sda1',
    'dd if=/dev/zero of=/dev/sda',
    'dd of=/dev/sda if=/dev/zero',
    'echo x > /dev/sda',
    ':(){ :|:& };:',
    'bomb() { bomb | bomb & }; bomb',
  ])('%s is refused before it runs', async (command) => {
    const { bash } = await tool({ shell: '/nonexistent/shell' });
    const answer = await call(bash, { command });
    expect(answer).toMatchObject({ isError: true, details: { problem: 'denied' } });
  });

  test.each(['rm -rf /tmp/nothing-here', 'rm -rf ./build', 'rm file', 'echo format', 'rm -rf ~/nothing-here-either'])(
    '%s is not',
    async (command) => {
      const { bash } = await tool({ shell: '/nonexistent/shell' });
      expect((await call(bash, { command })).details['problem']).toBe('io');
    },
  );

  test('can be replaced', async () => {
    const { bash } = await tool({ denyPatterns: [{ pattern: /\bcurl\b/g, reason: 'it uses the network' }] });
    for (let round = 0; round < 2; round += 1) {
      expect((await call(bash, { command: 'curl x' })).text).toBe(
        'The command was refused, not run: it uses the network.',
      );
    }
  });

  test('are quick on hostile commands', async () => {
    const { bash } = await tool({ shell: '/nonexistent/shell' });
    for (const part of ['rm -r ', 'rm --', 'dd ', 'rm -r -f -- ', 'a(){a|', '> ', 'x', '((', '{ ']) {
      // Anything but linear time would not end within the test's time.
      expect(await call(bash, { command: `echo ${part.repeat(30_000)}` })).toMatchObject({ isError: true });
    }
  });
});

test('bash is never replayed, changes things, and runs alone', () => {
  const bash = bashTool({ root: '.' });
  expect(bash).toMatchObject({ name: 'bash', replay: 'never', readOnly: false, execution: 'sequential' });
});
