// @module-tag slow

import { isDurable, type DurableEvent, type TreadleEvent } from '@treadle/core';
import { sqliteJournal } from '@treadle/store';
import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';

import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { jsonLines, temporaryFolder } from '../test-support/harness.ts';
import { orderProblems } from '../test-support/order.ts';
import { bin, root, startCommand, startProcess } from '../test-support/process.ts';

const NEVER = new Promise<never>(() => {});
const HANGING: ProviderTurn = { text: 'This is the beginning of', waitAfter: { deltas: 1, until: NEVER } };

/** A folder that is also the home, and a provider whose turns are given. */
async function world(turns: readonly (ProviderTurn | string)[]) {
  const folder = await temporaryFolder();
  const provider = await fakeProvider(turns);
  const options = { cwd: folder.path, env: { ANTHROPIC_BASE_URL: provider.url, HOME: folder.path } };
  const run = (...argv: string[]) => startProcess([...argv, '--model', 'anthropic/x'], options);
  return {
    folder: folder.path,
    provider,
    options,
    run,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The log of the only session there is. */
async function logOf(home: string): Promise<DurableEvent[]> {
  const journal = sqliteJournal({ path: join(home, '.treadle/sessions.db') });
  try {
    const { sessions } = await journal.list();
    expect(sessions).toHaveLength(1);
    const events: DurableEvent[] = [];
    for await (const event of journal.read(sessions[0]?.sessionId ?? '', 1)) events.push(event);
    return events;
  } finally {
    await journal.close();
  }
}

/** The processes with such a command line. One that was killed may take a moment to die. */
const running = (command: string): string[] =>
  spawnSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.includes(command));

const durable = (stdout: string): DurableEvent[] =>
  // What a killed process was writing may be cut off: its last line isn't one.
  jsonLines<TreadleEvent>(stdout.slice(0, stdout.lastIndexOf('\n') + 1)).filter(isDurable);

const runOf = (event: DurableEvent | undefined): string | undefined =>
  event !== undefined && 'runId' in event ? event.runId : undefined;

function expectSound(log: readonly DurableEvent[], provider: FakeProvider): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  expect(orderProblems(log)).toEqual([]);
  expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
}

describe('a process that is killed', () => {
  it('while the model speaks: -c with a prompt ends that run and starts another, and nothing acknowledged is lost', async () => {
    await using w = await world([HANGING, 'Back again.']);
    const first = w.run('Remember plum.', '--output-format', 'events');
    await first.printed('message_delta');
    first.child.kill('SIGKILL');
    const { stdout } = await first.ended;

    const second = await w.run('-c', 'Which word?', '--output-format', 'events').ended;
    expect(second).toMatchObject({ code: 0, stderr: '' });
    const log = await logOf(w.folder);
    const acknowledged = durable(stdout);
    expect(acknowledged.length).toBeGreaterThan(4);
    expect(log.slice(0, acknowledged.length)).toEqual(acknowledged);
    const printed = durable(second.stdout);
    const [{ seq: from }, own] = [printed[0] ?? { seq: 0 }, printed.at(-1)];
    const ofThisRun = (event: DurableEvent): boolean => runOf(event) === undefined || runOf(event) === runOf(own);
    expect(printed).toEqual(log.filter((event) => event.seq >= from && ofThisRun(event)));
    expect(printed.at(-1)).toEqual(log.at(-1));
    expect(log.filter(({ type }) => type === 'run_ended')).toMatchObject([
      { status: 'aborted' },
      { status: 'completed' },
    ]);
    expectSound(log, w.provider);
    for (const said of ['Remember plum.', 'Which word?']) expect(w.provider.requests[1]?.rawBody).toContain(said);
  });

  it('while the model speaks: -c alone goes on with that run', { tags: ['share'] }, async () => {
    await using w = await world([HANGING, 'Whole this time.']);
    const first = w.run('Go.', '--output-format', 'events');
    await first.printed('message_delta');
    first.child.kill('SIGKILL');
    await first.ended;

    const second = await w.run('-c').ended;
    expect(second.code).toBe(0);
    expect(second.stdout).toMatch(/^Whole this time\.$/m);
    const log = await logOf(w.folder);
    expect(log.filter(({ type }) => type === 'run_ended')).toMatchObject([{ status: 'completed' }]);
    expectSound(log, w.provider);
  });

  it.each([
    ['-c alone tells the model that the effect is unknown', [], ['completed']],
    ['-c with a prompt does too', ['Go on.'], ['aborted', 'completed']],
  ])('while a tool is stuck: %s, and nothing is run twice', async (_name, prompt, ends) => {
    const command = 'echo $$ >> started; exec sleep 600';
    await using w = await world([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'I see.']);
    const first = w.run('Run it.', '--allow', 'bash', '--output-format', 'events');
    await first.printed('"tool_started"');
    const pid = await lineOf(join(w.folder, 'started'));
    try {
      first.child.kill('SIGKILL');
      const { stdout } = await first.ended;
      const second = await w.run('-c', ...prompt, '--allow', 'bash').ended;
      expect(second.code).toBe(0);
      const log = await logOf(w.folder);
      const acknowledged = durable(stdout);
      expect(log.slice(0, acknowledged.length)).toEqual(acknowledged);
      expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(1);
      expect(log.flatMap((event) => (event.type === 'run_ended' ? [event.status] : []))).toEqual(ends);
      expectSound(log, w.provider);
      expect(w.provider.requests[1]?.body).toMatchObject({
        messages: expect.arrayContaining([toolError]) as unknown[],
      });
      expect((await readFile(join(w.folder, 'started'), 'utf8')).trim()).toBe(pid);
    } finally {
      // What a killed process had started is nobody's child any more.
      process.kill(Number(pid), 'SIGKILL');
    }
  });

  const toolError = {
    role: 'user',
    content: expect.arrayContaining([expect.objectContaining({ type: 'tool_result', is_error: true })]) as unknown[],
  };
});

describe('a process that is interrupted, with its session in SQLite', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('S15: by %s exits %i, and its log has an end', async (signal, exit) => {
    await using w = await world([HANGING]);
    const { child, printed, ended } = w.run('Go.');
    await printed('This is');
    child.kill(signal);
    expect(await ended).toMatchObject({ code: exit });
    const log = await logOf(w.folder);
    expect(log.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
    expectSound(log, w.provider);
  });

  it('S15: twice ends at once, with what was acknowledged in its log and no command left behind', async () => {
    // It doesn't end when it is asked to, which keeps the first signal waiting.
    const sleep = `sleep 601.${process.pid}`;
    const command = `trap '' TERM INT HUP; echo it is > started; ${sleep}; true`;
    await using w = await world([{ toolCalls: [{ name: 'bash', arguments: { command } }] }]);
    const { child, printed, ended } = w.run('Run it.', '--allow', 'bash', '--output-format', 'events');
    await printed('"tool_started"');
    await lineOf(join(w.folder, 'started'));
    child.kill('SIGINT');
    child.kill('SIGTERM');
    const { code, stdout } = await ended;
    // Whichever of them came second.
    expect([130, 143]).toContain(code);
    const log = await logOf(w.folder);
    expect(log).toEqual(expect.arrayContaining(durable(stdout)));
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    await expect.poll(() => running(sleep), { timeout: 5000 }).toEqual([]);
  });

  it('S15: takes the command it runs with it', async () => {
    // Known by its arguments: in a sandbox its number is another one.
    const sleep = `sleep 600.${process.pid}`;
    const command = `echo it is > started; exec ${sleep}`;
    await using w = await world([{ toolCalls: [{ name: 'bash', arguments: { command } }] }]);
    const { child, printed, ended } = w.run('Run it.', '--allow', 'bash', '--output-format', 'events');
    await printed('"tool_started"');
    await lineOf(join(w.folder, 'started'));
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130 });
    await expect.poll(() => running(sleep), { timeout: 5000 }).toEqual([]);
    expectSound(await logOf(w.folder), w.provider);
  });
});

describe('the output, with the session in SQLite', () => {
  it('S15: may be closed early: the run ends, the log has its end, and there is no stack trace', async () => {
    await using w = await world([{ text: 'word '.repeat(2000), chunkDelayMs: 1 }]);
    const script = '"$0" "$@" | head -n 1; exit "${PIPESTATUS[0]}"';
    const args = ['-c', script, process.execPath, bin, 'Go.', '--model', 'anthropic/x', '--output-format', 'events'];
    const { code, stdout, stderr } = await startCommand('bash', args, w.options).ended;
    expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
    expect(jsonLines<TreadleEvent>(stdout)).toMatchObject([{ type: 'session_created' }]);
    const log = await logOf(w.folder);
    expect(log.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
  });

  it('is all there before the process ends, however slowly it is read', async () => {
    await using w = await world([{ text: 'x'.repeat(1_000_000), chunkSize: 1000 }]);
    const { child, ended } = w.run('Go.', '--output-format', 'events');
    child.stdout.pause();
    await w.provider.waitForRequest(1);
    await w.provider.idle();
    child.stdout.resume();
    const { code, stdout } = await ended;
    const events = jsonLines<TreadleEvent>(stdout);
    expect({ code, last: events.at(-1)?.type }).toEqual({ code: 0, last: 'run_ended' });
    const text = events.map((event) => (event.type === 'message_delta' ? event.text : '')).join('');
    expect(text.length).toBe(1_000_000);
  });
});

describe('the program', () => {
  it('is on the PATH of npm’s scripts, and says its version', { tags: ['share'] }, async () => {
    const { code, stdout, stderr } = await startCommand(join(root, 'node_modules/.bin/treadle'), ['--version'], {
      cwd: root,
    }).ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  it('prints nothing that Node has to say, and works with an empty home', async () => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await startProcess(['What can you do?', '--model', 'demo'], {
      cwd: folder.path,
      env: { HOME: folder.path },
    }).ended;
    expect({ code, stderr, said: stdout.length > 100 }).toEqual({ code: 0, stderr: '', said: true });
  });

  it('goes on when its standard input stays open and silent', async () => {
    await using w = await world(['Done.']);
    const { ended } = startProcess(['Go.', '--model', 'anthropic/x'], { ...w.options, stdin: 'open' });
    const { code, stderr } = await ended;
    expect({ code, told: stderr.includes('going on without it') }).toEqual({ code: 0, told: true });
  });

  it('refuses a Node that is too old, before anything that such a Node does not have', async () => {
    const fake = "{ value: { ...process.versions, node: '20.20.2' } }";
    const old = `data:text/javascript,Object.defineProperty(process, 'versions', ${fake})`;
    const { code, stdout, stderr } = await startProcess(['--version'], { cwd: root, nodeArgs: ['--import', old] })
      .ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Node 22.19');
    expect(stderr).toContain('20.20.2');
    expect(stderr).toContain('npx treadle');
  });

  it.each([
    ['16.20.2', false],
    ['20.20.2', false],
    ['22.18.9', false],
    ['22.19.0', true],
    ['24.0.0', true],
    ['100.1.0', true],
  ])('asked about Node %s says %s', async (version, isFine) => {
    const file = new URL('../../bin/node-version.js', import.meta.url).href;
    const { versionProblem } = (await import(file)) as {
      versionProblem(version: string, path: string): string | null;
    };
    expect(versionProblem(version, '/usr/bin/node') === null).toBe(isFine);
  });
});

/** The first line of a file that a process is about to write. */
async function lineOf(path: string): Promise<string> {
  for (;;) {
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return text.trim();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
