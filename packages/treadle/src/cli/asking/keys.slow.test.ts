// @module-tag slow

import { DEPLOYMENTS, keysIn } from '@treadle/models';
import { fakeProvider, scriptedModel, type ProviderTurn } from '@treadle/testing';
import { withoutSecrets } from '@treadle/tools';

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { describe, expect, it, onTestFinished } from 'vitest';

import { runCli, temporaryFolder } from '../../test-support/harness.ts';
import { startProcess } from '../../test-support/process.ts';

const bash = (command: string): ProviderTurn & { text: string } => ({
  text: 'I look.',
  toolCalls: [{ name: 'bash', arguments: { command } }],
});

/** All bytes of the files below a folder, as one text. */
async function bytesBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')));
  return texts.join('\n');
}

/** A home whose settings turn the sandbox off, and a folder in it. */
async function world() {
  const home = await temporaryFolder();
  const folder = join(home.path, 'work');
  const kept = join(home.path, 'kept');
  await mkdir(folder);
  await mkdir(join(home.path, '.config/treadle'), { recursive: true });
  const settings = join(home.path, '.config/treadle/settings.json');
  const say = (more: object = {}) => writeFile(settings, JSON.stringify({ sandbox: { mode: 'off' }, ...more }));
  await say();
  return {
    folder,
    say,
    env: { HOME: home.path, TREADLE_HOME: kept, NO_COLOR: '1' },
    stored: () => bytesBelow(kept),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

/** A process that shows the key to whoever looks, as the shell or npm does that treadle is started from. */
async function showing(key: string): Promise<number> {
  const child = spawn('sleep', ['60'], { env: { PATH: process.env['PATH'] ?? '', OPENAI_API_KEY: key } });
  onTestFinished(() => void child.kill());
  await once(child, 'spawn');
  return child.pid ?? 0;
}

const newKey = (): string => `sk-${crypto.randomUUID()}`;

describe.runIf(process.platform === 'linux')('a command without a sandbox', () => {
  it('finds no key in its environment, nor in what the system shows of this process and its children', async () => {
    await using w = await world();
    const key = newKey();
    const look =
      'env; for each in /proc/[0-9]*; do tr "\\0" "\\n" < $each/environ; done 2>/dev/null; echo looked at $PPID';
    await using provider = await fakeProvider([bash(look), 'Nothing.']);
    const env = { ...w.env, OPENAI_BASE_URL: provider.openaiBaseUrl, OPENAI_API_KEY: key };
    const argv = ['run', 'Look.', '--allow', 'bash', '--model', 'openai/x', '--output-format', 'json'];
    const { child, ended } = startProcess(argv, { cwd: w.folder, env });
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toContain(`looked at ${child.pid}`);
    // It is there, overwritten: what is shown was not redacted afterwards.
    expect(stdout).toMatch(/OPENAI_API_KEY=\*{30}/);
    expect(stdout).not.toContain('[secret:');
    expect(provider.requests[0]?.headers['authorization']).toBe(`Bearer ${key}`);
    expect(await w.stored()).toContain('looked at');
    for (const text of [stdout, JSON.stringify(provider.requests.map(({ body }) => body)), await w.stored()])
      expect(text).not.toContain(key);
  }, 60_000);

  it('that finds one elsewhere shows its placeholder to the model, and nothing but that is kept', async () => {
    await using w = await world();
    const key = newKey();
    const pid = await showing(key);
    const commands = [`tr "\\0" "\\n" < /proc/${pid}/environ`, `printf %s 'x:${key}:y' | base64 -w 0`, 'cat key.txt'];
    await writeFile(join(w.folder, 'key.txt'), `KEY=${key}\n`);
    const model = scriptedModel([...commands.map(bash), `It is ${key}.`]);
    const argv = [`My key is ${key}.`, '--allow', 'bash', '--output-format', 'events'];
    const env = { ...w.env, OPENAI_API_KEY: key };
    const { code, stdout, stderr } = await runCli(argv, { cwd: w.folder, env, model });
    expect(code).toBe(0);
    expect(stdout).toContain('OPENAI_API_KEY=[secret:OPENAI_API_KEY]');
    expect(stdout).toContain('My key is [secret:OPENAI_API_KEY].');
    expect(stdout).toContain('KEY=[secret:OPENAI_API_KEY]');
    expect(await w.stored()).toContain('My key is [secret:OPENAI_API_KEY].');
    const inside = Buffer.from(`x:${key}:y`).toString('base64').slice(4, -4);
    for (const text of [stdout, stderr, JSON.stringify(model.requests), await w.stored()]) {
      expect(text).not.toContain(key);
      expect(text).not.toContain(inside);
    }
  });

  it('is asked for with what it can read of the keys, and of whom', async () => {
    await using w = await world();
    const key = newKey();
    const pid = await showing(key);
    const ask = async (env: Readonly<Record<string, string>>): Promise<string> => {
      const stdin = Object.assign(Readable.from([Buffer.from('n\n')]), { isTTY: true });
      const model = scriptedModel([bash('touch a'), 'Done.']);
      return (await runCli(['Go.'], { cwd: w.folder, env: { ...w.env, ...env }, model, stdin, isTTY: 'both' })).screen;
    };
    expect(await ask({ OPENAI_API_KEY: key })).toContain(
      `It runs without a sandbox. It can read OPENAI_API_KEY in the environment of sleep (${pid}).\n`,
    );
    expect(await ask({ OPENAI_API_KEY: newKey() })).not.toContain('without a sandbox');
    expect(await ask({})).not.toContain('without a sandbox');
  });

  it('has its keys told of by treadle doctor', async () => {
    await using w = await world();
    const key = newKey();
    const doctor = async (own: string, ...flags: string[]): Promise<string> =>
      (await startProcess(['doctor', ...flags], { cwd: w.folder, env: { ...w.env, OPENAI_API_KEY: own } }).ended)
        .stdout;
    expect(await doctor(key)).toMatch(/^keys {2,}OPENAI_API_KEY · not shown to commands$/m);
    const pid = await showing(key);
    expect(await doctor(key)).toContain(
      `OPENAI_API_KEY · of a command without a sandbox: It can read OPENAI_API_KEY in the environment of sleep (${pid}).`,
    );
    const { keys } = JSON.parse(await doctor(key, '--json')) as { readonly keys: unknown };
    expect(keys).toEqual({
      variables: ['OPENAI_API_KEY'],
      shownBy: [{ pid, name: 'sleep', secrets: ['OPENAI_API_KEY'] }],
    });
    expect(await doctor(key)).not.toContain(key);
  }, 60_000);
});

describe('the keys of a run', () => {
  it('are those of the user’s settings too', { tags: ['share'] }, async () => {
    await using w = await world();
    const key = newKey();
    await w.say({ env: { ANTHROPIC_API_KEY: key } });
    const model = scriptedModel([bash(`echo ${key}`), 'Done.']);
    const { stdout } = await runCli(['Go.', '--allow', 'bash', '--output-format', 'json'], {
      cwd: w.folder,
      env: w.env,
      model,
    });
    expect(stdout).toContain('[secret:ANTHROPIC_API_KEY]');
    expect(stdout + JSON.stringify(model.requests) + (await w.stored())).not.toContain(key);
  });

  it('can’t be lost from a file that the model writes anew', async () => {
    await using w = await world();
    const key = newKey();
    const file = join(w.folder, '.env');
    await writeFile(file, `OPENAI_API_KEY=${key}\nPORT=1\n`);
    const model = scriptedModel([
      { toolCalls: [{ name: 'read_file', arguments: { path: '.env' } }] },
      {
        toolCalls: [
          {
            name: 'write_file',
            arguments: { path: '.env', content: 'OPENAI_API_KEY=[secret:OPENAI_API_KEY]\nPORT=2\n' },
          },
        ],
      },
      { toolCalls: [{ name: 'edit_file', arguments: { path: '.env', old_text: 'PORT=1', new_text: 'PORT=2' } }] },
      'Done.',
    ]);
    const env = { ...w.env, OPENAI_API_KEY: key };
    const { code, stdout } = await runCli(['Go.', '--allow', 'write', '--output-format', 'events'], {
      cwd: w.folder,
      env,
      model,
    });
    expect(code).toBe(0);
    expect(stdout).toContain('which stands for a value that this tool is not given');
    expect(await readFile(file, 'utf8')).toBe(`OPENAI_API_KEY=${key}\nPORT=2\n`);
  });

  it('are in no line on standard error, such as a failed hook’s', async () => {
    await using w = await world();
    const key = newKey();
    const command = `echo '${key}' >&2; exit 1`;
    await w.say({ hooks: { SessionStart: [{ hooks: [{ type: 'command', command }] }] } });
    const env = { ...w.env, OPENAI_API_KEY: key };
    const { stderr } = await runCli(['Go.'], { cwd: w.folder, env, model: scriptedModel(['Done.']) });
    expect(stderr).toContain('[secret:OPENAI_API_KEY]');
    expect(stderr).not.toContain(key);
  });

  it('are known for every provider, by names that commands don’t get', { tags: ['share'] }, () => {
    const names = DEPLOYMENTS.flatMap(({ keyVariables, secretVariables = [] }) => [
      ...keyVariables,
      ...secretVariables,
    ]);
    expect(names).toContain('AWS_SECRET_ACCESS_KEY');
    for (const name of names) {
      expect(keysIn({ [name]: ' a-key-of-it ' })).toEqual({ [name]: 'a-key-of-it' });
      expect(keysIn({ [name]: 'none' })).toEqual({});
      expect(withoutSecrets({ [name]: 'a-key-of-it' })).toEqual({});
      expect(name).toMatch(/KEY|TOKEN/);
    }
    expect(keysIn({ AWS_PROFILE: 'production', GOOGLE_APPLICATION_CREDENTIALS: '/home/me/key.json' })).toEqual({});
  });
});
