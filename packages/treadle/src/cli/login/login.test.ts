import { scriptedModel } from '@treadle/testing';

import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder, type CliOptions } from '../../test-support/harness.ts';

const KEY = 'sk-ant-0123456789abcdef';

/** A home, and a command line whose model says what it is called and which key it was given. */
async function world(more: Readonly<Record<string, string>> = {}) {
  const home = await temporaryFolder();
  const env = { HOME: home.path, ...more };
  const asked: { readonly name: string; readonly key: string | undefined }[] = [];
  const parts: CliOptions['parts'] = {
    model: async (name, variables) => {
      asked.push({ name, key: variables['ANTHROPIC_API_KEY'] });
      return scriptedModel([`The key is ${variables['ANTHROPIC_API_KEY']}.`]);
    },
  };
  const path = join(home.path, '.config/treadle/login.json');
  return {
    path,
    asked,
    run: (argv: readonly string[], options: CliOptions = {}) =>
      runCli(argv, { cwd: home.path, env, parts, stdin: '', ...options }),
    kept: async () => JSON.parse(await readFile(path, 'utf8')) as { keys: object; model: string | null },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

/** A terminal at which these lines are typed. */
const typed = (...lines: readonly string[]): CliOptions => ({
  stdin: Object.assign(Readable.from(lines.map((line) => Buffer.from(`${line}\n`))), { isTTY: true }),
  isTTY: 'both',
});

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('the first run at a terminal, without a key', () => {
  it('asks for a provider and keeps its key, which is nowhere else', async () => {
    await using w = await world();
    const { code, screen } = await w.run(['Hello.'], typed('1', KEY));
    expect(code).toBe(0);
    expect(screen).toContain('1  Anthropic (anthropic/claude-sonnet-5-5)\n  2  OpenAI (openai/gpt-6.1-sol)\n');
    expect(w.asked).toEqual([{ name: 'anthropic/claude-sonnet-5-5', key: KEY }]);
    expect(screen).not.toContain(KEY);
    expect(await w.kept()).toEqual({ keys: { ANTHROPIC_API_KEY: { value: KEY } }, model: null });
    expect(await modeOf(w.path)).toBe('600');
    const exported = await w.run(['sessions', 'list']);
    const { stdout } = await w.run(['sessions', 'export', exported.stdout.split('\t')[0] ?? '']);
    expect(stdout).toContain('The key is ');
    expect(stdout).not.toContain(KEY);
  });

  it('asks once: the demo model stays, until there is a key', async () => {
    await using w = await world();
    expect((await w.run(['Hello.'], typed('4'))).screen).toContain('4  the demo model');
    expect((await w.run(['Hello.'], typed())).screen).not.toContain('Which model should answer?');
    expect((await w.run(['Hello.'], { env: { HOME: join(w.path, '../../..'), ANTHROPIC_API_KEY: KEY } })).code).toBe(0);
    expect(w.asked.map(({ name }) => name)).toEqual(['demo/demo-1', 'demo/demo-1', 'anthropic/claude-sonnet-5-5']);
  });

  it('asks for the model of a provider that has no default, and may keep the name of a variable', async () => {
    await using w = await world({ MY_KEY: 'gsk-0123456789' });
    const { code } = await w.run(['Hello.'], typed('3', 'grok', 'groq', 'short', '$MY_KEY', 'llama-4'));
    expect(code).toBe(0);
    expect(await w.kept()).toEqual({ keys: { GROQ_API_KEY: { env: 'MY_KEY' } }, model: 'groq/llama-4' });
    expect(w.asked.map(({ name }) => name)).toEqual(['groq/llama-4']);
  });

  it('is as it was where nobody answers: the demo model', async () => {
    await using w = await world();
    const { code, stderr } = await w.run(['Hello.'], typed());
    expect({ code, names: w.asked.map(({ name }) => name) }).toEqual({ code: 0, names: ['demo/demo-1'] });
    expect(stderr).toContain('because there is no ANTHROPIC_API_KEY or OPENAI_API_KEY');
  });

  it.each([
    ['elsewhere', {}],
    ['where a model is named', { ...typed('1', KEY), name: ['--model', 'openai/x'] }],
    ['for programs', { ...typed('1', KEY), name: ['--output-format', 'json'] }],
  ])('does not ask %s', async (_, { name = [], ...options }: CliOptions & { readonly name?: readonly string[] }) => {
    await using w = await world();
    const { code, screen } = await w.run(['Hello.', ...name], options);
    expect(code).toBe(0);
    expect(screen).not.toContain('Which model');
  });

  it('without a terminal and with a model that needs a key fails as before', async () => {
    await using w = await world();
    const { code, stderr } = await w.run(['Hello.', '--model', 'anthropic/claude-sonnet-5-5'], { parts: {} });
    expect(code).toBe(2);
    expect(stderr).toContain('No key for anthropic. Set ANTHROPIC_API_KEY');
  });
});

describe('treadle login', () => {
  it('keeps a key that is piped in, and a run uses it', async () => {
    await using w = await world();
    const { code, stdout, stderr } = await w.run(['login', 'anthropic'], { stdin: `${KEY}\n` });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`Kept in ${w.path}, which only you can read.\n`);
    await w.run(['Hello.']);
    expect(w.asked).toEqual([{ name: 'anthropic/claude-sonnet-5-5', key: KEY }]);
  });

  it('gives way to a key of the environment, and says so', async () => {
    await using w = await world({ ANTHROPIC_API_KEY: 'sk-of-the-environment' });
    const { stderr } = await w.run(['login', 'anthropic'], { stdin: KEY });
    expect(stderr).toBe('treadle: ANTHROPIC_API_KEY is set in the environment, and counts before what is kept.\n');
    await w.run(['Hello.']);
    expect(w.asked[0]?.key).toBe('sk-of-the-environment');
  });

  it('keeps the name of a variable with --env', async () => {
    await using w = await world({ WORK_KEY: KEY });
    expect((await w.run(['login', 'anthropic', '--env', 'WORK_KEY'])).code).toBe(0);
    expect(await readFile(w.path, 'utf8')).not.toContain(KEY);
    await w.run(['Hello.']);
    expect(w.asked[0]?.key).toBe(KEY);
  });

  it.each([
    ['a key as an argument, without repeating it', ['login', 'anthropic', KEY], '', 'A key is no argument'],
    ['an unknown provider', ['login', 'antropic'], KEY, "No provider is called 'antropic'. Did you mean 'anthropic'?"],
    ['no provider, without a terminal', ['login'], KEY, 'Name the provider'],
    ['what is no key', ['login', 'openai'], 'two words here', 'A key has no spaces'],
    ['nothing', ['login', 'openai'], '', 'too short'],
  ])('refuses %s', async (_, argv, stdin, words) => {
    await using w = await world();
    const { code, screen } = await w.run(argv, { stdin });
    expect(code).toBe(2);
    expect(screen).toContain(words);
    expect(screen).not.toContain(KEY);
  });

  it('keeps nothing when nobody types', async () => {
    await using w = await world();
    expect(await w.run(['login'], typed())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing is kept') as string,
    });
  });
});

describe('treadle logout', () => {
  it('forgets one key, or all', async () => {
    await using w = await world();
    for (const name of ['anthropic', 'openai', 'groq']) await w.run(['login', name], { stdin: KEY });
    expect((await w.run(['logout', 'openai'])).stdout).toBe('Forgotten: OPENAI_API_KEY.\n');
    expect(Object.keys((await w.kept()).keys)).toEqual(['ANTHROPIC_API_KEY', 'GROQ_API_KEY']);
    expect((await w.run(['logout'])).stdout).toBe('Forgotten: ANTHROPIC_API_KEY, GROQ_API_KEY.\n');
    expect((await w.run(['logout'])).stdout).toBe('No key is kept.\n');
    expect(await w.kept()).toEqual({ keys: {}, model: null });
  });
});

describe('the file of keys', () => {
  it('is refused while others can read it', async () => {
    await using w = await world();
    await w.run(['login', 'anthropic'], { stdin: KEY });
    await chmod(w.path, 0o640);
    const { code, stderr } = await w.run(['Hello.']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `treadle: Others can read the keys in ${w.path}. Run: chmod 600 '${w.path}'\n`,
    });
  });

  it.each(['{', '[]', `{"keys":{"A":"${KEY}"}}`, '{"keys":{},"model":1}'])(
    'that says %s is refused, and not quoted',
    async (text) => {
      await using w = await world();
      await mkdir(join(w.path, '..'), { recursive: true });
      await writeFile(w.path, text, { mode: 0o600 });
      const { code, stderr } = await w.run(['Hello.']);
      expect(code).toBe(2);
      expect(stderr).toBe(`treadle: ${w.path} can't be understood. Delete it, and log in again: treadle login\n`);
    },
  );
});
