import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { fakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { runCli, startCli, temporaryFolder } from '../../test-support/harness.ts';
import type { MachineReport } from './machine.ts';

const SECRET = 'sk-very-secret-key-0123456789';

async function reportOf(env: Readonly<Record<string, string>>, cwd?: string) {
  const outcome = await runCli(['doctor', '--json'], { env, ...(cwd === undefined ? {} : { cwd }) });
  return { ...outcome, report: JSON.parse(outcome.stdout) as MachineReport };
}

describe('treadle doctor', () => {
  it('lists each deployment with its variables, its address, and whether there are credentials', async () => {
    await using folder = await temporaryFolder();
    const { code, report } = await reportOf({
      HOME: folder.path,
      GEMINI_API_KEY: SECRET,
      ANTHROPIC_AUTH_TOKEN: SECRET,
      GROQ_API_KEY: ' ',
      OPENAI_BASE_URL: 'http://localhost:8000/v1',
      AZURE_OPENAI_BASE_URL: 'https://mine.example.com',
      XAI_BASE_URL: 'not an address',
      // Requests go to its `/v1`, so that is what is shown.
      VLLM_BASE_URL: 'http://gpu.example.com:8000',
    });
    expect(code).toBe(0);
    const rows = new Map(report.deployments.map((row) => [row.name, row]));
    expect(rows.get('google')).toEqual({
      name: 'google',
      protocol: 'gemini',
      keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
      credentials: 'present',
      variable: 'GEMINI_API_KEY',
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      baseUrlProblem: null,
    });
    expect(rows.get('anthropic')).toMatchObject({ credentials: 'present', variable: 'ANTHROPIC_AUTH_TOKEN' });
    expect(rows.get('groq')).toMatchObject({ credentials: 'missing', variable: null });
    expect(rows.get('openai')).toMatchObject({ credentials: 'not_needed', baseUrl: 'http://localhost:8000/v1' });
    expect(rows.get('azure')).toMatchObject({ credentials: 'missing', baseUrl: 'https://mine.example.com/openai/v1' });
    expect(rows.get('xai')).toMatchObject({
      baseUrl: null,
      baseUrlProblem: 'XAI_BASE_URL is not a URL. Give one such as https://api.x.ai/v1.',
    });
    expect(rows.get('bedrock')).toMatchObject({ credentials: 'looked_up' });
    expect(rows.get('vllm')).toMatchObject({ baseUrl: 'http://gpu.example.com:8000/v1' });
    expect(rows.get('ollama')).toMatchObject({ credentials: 'not_needed' });
  });

  it('shows the variables by which a cloud’s own credentials are found', async () => {
    const { report } = await reportOf({ AWS_PROFILE: 'work', GOOGLE_APPLICATION_CREDENTIALS: '/home/me/key.json' });
    const rows = new Map(report.deployments.map((row) => [row.name, row]));
    expect(rows.get('bedrock')).toMatchObject({ credentials: 'present', variable: 'AWS_PROFILE' });
    expect(rows.get('bedrock')?.keyVariables).toEqual(
      expect.arrayContaining(['AWS_BEARER_TOKEN_BEDROCK', 'AWS_ACCESS_KEY_ID', 'AWS_WEB_IDENTITY_TOKEN_FILE']),
    );
    expect(rows.get('vertex')).toMatchObject({ credentials: 'present', variable: 'GOOGLE_APPLICATION_CREDENTIALS' });
  });

  it('fits a narrow terminal: names of variables stand behind the address', async () => {
    const { stdout } = await runCli(['doctor'], { env: {} });
    const rows = stdout.split('\n').filter((line) => /^(openai|groq|ollama) /.test(line));
    expect(rows).toEqual([
      expect.stringMatching(/^openai +no key +https:\/\/api\.openai\.com\/v1 \(OPENAI_API_KEY\)$/),
      expect.stringMatching(/^ollama +no key needed +http:\/\/localhost:11434 \(OLLAMA_API_KEY\)$/),
      expect.stringMatching(/^groq +no key +https:\/\/api\.groq\.com\/openai\/v1 \(GROQ_API_KEY\)$/),
    ]);
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(100);
  });

  it('never prints a secret: of keys, addresses or proxies', async () => {
    const env = {
      OPENAI_API_KEY: SECRET,
      ANTHROPIC_BASE_URL: `https://user:${SECRET}@example.com/?key=${SECRET}#${SECRET}`,
      HTTPS_PROXY: `http://me:${SECRET}@proxy.example.com:3128`,
      HTTP_PROXY: `me:${SECRET}`,
      NO_PROXY: 'internal.example.com',
    };
    for (const argv of [['doctor'], ['doctor', '--json']]) {
      const { stdout, stderr } = await runCli(argv, { env });
      expect(stdout + stderr).not.toContain(SECRET);
      expect(stdout).toContain('OPENAI_API_KEY');
      expect(stdout).toContain('http://proxy.example.com:3128');
      expect(stdout).toContain('internal.example.com');
    }
  });

  it('says where sessions are kept and that they can be, and creates nothing', async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, 'a/b');
    const { code, report } = await reportOf({ TREADLE_HOME: home });
    expect({ code, sessions: report.sessions }).toEqual({
      code: 0,
      sessions: { path: join(home, 'sessions.db'), writable: true, problem: null },
    });
    await expect(mkdir(join(folder.path, 'a'))).resolves.toBeUndefined();
  });

  it('fails when sessions can’t be kept', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    const { code, stdout } = await runCli(['doctor'], { env: { TREADLE_HOME: join(file, 'home') } });
    expect(code).toBe(1);
    expect(stdout).toContain(`not writable: ${file} is not a folder`);
  });

  it('finds programs on the search path, and none in the folder that is worked on', async () => {
    await using folder = await temporaryFolder();
    const [bin, work] = [join(folder.path, 'bin'), join(folder.path, 'work')];
    await mkdir(bin);
    await mkdir(work);
    await writeFile(join(bin, 'rg'), '#!/bin/sh\n', { mode: 0o755 });
    await writeFile(join(work, 'bash'), '#!/bin/sh\n', { mode: 0o755 });
    const { report } = await reportOf({ HOME: folder.path, PATH: `${work}:${bin}` }, work);
    expect(report.programs).toEqual({ bash: null, ripgrep: join(bin, 'rg') });
  });

  it('says whether commands can be sandboxed, and if not, why', async () => {
    const { report } = await reportOf({});
    const { works, reason, program } = report.sandbox;
    const { stdout } = await runCli(['doctor']);
    const line = stdout.split('\n').find((one) => one.startsWith('sandbox')) ?? '';
    if (works) expect(line).toContain(`works (${program})`);
    else expect(line).toContain(`doesn't work: every command asks · ${reason?.slice(0, 20)}`);
    expect(reason === null).toBe(works);
  });

  it.each([
    [['doctor', 'openai/x'], 'A model goes after --model'],
    [['doctor', '--mode', 'openai/x'], "Did you mean '--model'?"],
    [['doctor', '--model', 'openai'], 'write provider/model'],
    [['doctor', '--conformance', 'opnai/x'], "Did you mean 'openai'?"],
    [['doctor', '--model', 'demo/large'], 'demo/demo-1'],
    [['doctor', '--model', 'openai/x', '--timeout', '0'], 'whole number of at least 1'],
    [['docter'], "Did you mean 'doctor'?"],
  ])('%j: exit 2, and a hint', async (argv, hint) => {
    const { code, stdout, stderr } = await runCli(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(hint);
  });

  it.each([
    ['doctor', '--help'],
    ['help', 'doctor'],
  ])('%s %s says what there is', async (...argv) => {
    const { code, stdout } = await runCli(argv);
    expect(code).toBe(0);
    expect(stdout).toContain('--conformance NAME');
  });
});

describe('treadle doctor --model', () => {
  const WIRES = [
    ['openai/x', 'OPENAI_BASE_URL', 'openaiBaseUrl'],
    ['anthropic/x', 'ANTHROPIC_BASE_URL', 'anthropicBaseUrl'],
    ['google/x', 'GOOGLE_BASE_URL', 'googleBaseUrl'],
    ['ollama/x', 'OLLAMA_BASE_URL', 'ollamaBaseUrl'],
  ] as const;

  const CALLS = {
    text: 'Let me look.',
    toolCalls: [{ name: 'get_temperature', arguments: { city: 'Paris' } }],
    usage: { input: 90, output: 20, cacheRead: 10, cacheWrite: 0 },
  };

  it.each(WIRES)('%s: one small request, and what it shows', async (name, variable, url) => {
    await using provider = await fakeProvider([CALLS]);
    const { code, stdout } = await runCli(['doctor', '--model', name], { env: { [variable]: provider[url] } });
    const asked = provider.requests.filter(({ method }) => method === 'POST' && !name.startsWith('ollama'));
    expect({ code, requests: asked.length }).toEqual({ code: 0, requests: name.startsWith('ollama') ? 0 : 1 });
    const [first = '', ...lines] = stdout.trimEnd().split('\n');
    expect(first).toMatch(new RegExp(`^${name}: ok · \\d+ ms$`));
    expect(lines.map((line) => line.trim().split(/ +/).slice(0, 2).join(' '))).toEqual([
      'key pass',
      'context_length unknown',
      expect.stringMatching(/^streaming (?:pass|unknown)$/),
      'tool_call pass',
      expect.stringMatching(/^caching (?:pass|unknown)$/),
    ]);
    expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('knows the window of a model that the catalogue has, and counts cached tokens', async () => {
    await using provider = await fakeProvider([CALLS]);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const { stdout } = await runCli(['doctor', '--model', 'openai/gpt-6-luna'], { env });
    expect(stdout).toMatch(/context_length +pass +1050000 tokens/);
    expect(stdout).toMatch(/caching +pass +10 tokens read\n/);
    expect(stdout).toMatch(/streaming +pass/);
  });

  it('fails when the model calls no tool, and calls what nobody can tell unknown', async () => {
    await using provider = await fakeProvider([{ text: 'OK', usage: null }]);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const { code, stdout } = await runCli(['doctor', '--model', 'openai/x'], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/tool_call +fail +the model called no tool/);
    expect(stdout).toMatch(/caching +unknown/);
  });

  it('asks each of several, and fails when one does', async () => {
    await using provider = await fakeProvider([CALLS]);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const argv = ['doctor', '--json', '--model', 'openai/a', '--model', 'groq/b'];
    const { code, stdout } = await runCli(argv, { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      models: [
        {
          model: 'openai/a',
          ok: true,
          ms: expect.any(Number) as number,
          error: null,
          findings: expect.arrayContaining([{ probe: 'key', outcome: 'pass', detail: 'accepted' }]) as object[],
        },
        {
          model: 'groq/b',
          ok: false,
          ms: null,
          error: {
            kind: 'other',
            code: 'invalid_definition',
            message: expect.stringContaining('GROQ_API_KEY') as string,
            advice: expect.stringContaining('Nothing was sent') as string,
          },
          findings: [],
        },
      ],
      conformance: [],
    });
  });

  it('says what a refused key is refused with, which variable held it, and never the key', async () => {
    await using provider = await fakeProvider([], { apiKey: 'right' });
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl, OPENAI_API_KEY: SECRET };
    const { code, stdout, stderr } = await runCli(['doctor', '--model', 'openai/x'], { env });
    expect(code).toBe(1);
    expect(stdout).toContain('openai/x: failed · auth · 401');
    expect(stdout).toContain('The API key is not the right one.');
    expect(stdout).toContain('Look at OPENAI_API_KEY');
    expect(stdout + stderr).not.toContain(SECRET);
  });

  it.each([
    [{ status: 429, retryAfterMs: 7000 }, 'rate_limited', 'Try again in 7 s'],
    [{ status: 403 }, 'auth', 'may not use this model'],
    [{ status: 404 }, 'api', "the model's name"],
    [{ status: 500 }, 'api', 'a problem of its own'],
    [{ status: 400 }, 'api', 'refuses the request itself'],
  ])('advises about %j', async (error, kind, advice) => {
    await using provider = await fakeProvider([{ error }]);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const { code, stdout } = await runCli(['doctor', '--model', 'openai/x'], { env });
    expect(code).toBe(1);
    expect(stdout).toContain(`failed · ${kind} · ${error.status}`);
    expect(stdout).toContain(advice);
  });

  it('says that an address without a version is probably half of one', async () => {
    await using provider = await fakeProvider([]);
    const env = { OPENAI_COMPATIBLE_BASE_URL: `${provider.url}/api` };
    const { code, stdout } = await runCli(['doctor', '--model', 'openai-compatible/x'], { env });
    expect(code).toBe(1);
    expect(stdout).toContain('failed · api · 404');
    expect(stdout).toContain(`${provider.url}/api has no version at its end`);
    expect(stdout).toContain(`try ${provider.url}/api/v1`);
  });

  it('advises about a server that isn’t there', async () => {
    const gone = await fakeProvider([]);
    await gone.close();
    const env = { OPENAI_BASE_URL: gone.openaiBaseUrl };
    const { code, stdout } = await runCli(['doctor', '--model', 'openai/x'], { env });
    expect(code).toBe(1);
    expect(stdout).toContain('network · ECONNREFUSED');
    expect(stdout).toContain('Is the address right');
  });

  it('gives a server that hangs its time and no more, and leaves', async () => {
    await using provider = await fakeProvider([{ text: 'never', wait: new Promise(() => {}) }]);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const asked: number[] = [];
    const { code, stdout } = await runCli(['doctor', '--model', 'openai/x', '--timeout', '9'], {
      env,
      after(ms, fn) {
        asked.push(ms);
        void provider.waitForRequest(1).then(fn);
        return () => {};
      },
    });
    expect({ code, asked }).toEqual({ code: 1, asked: [9000] });
    expect(stdout).toContain('no complete reply within 9 s');
    expect(stdout).toContain('--timeout SECONDS');
    await provider.idle();
    expect(provider.requests[0]?.outcome).toBe('left');
  });

  it('ends with a signal', async () => {
    await using provider = await fakeProvider([{ text: 'never', wait: new Promise(() => {}) }]);
    const env = { OPENAI_BASE_URL: provider.openaiBaseUrl };
    const call = startCli(['doctor', '--model', 'openai/x'], { env });
    await provider.waitForRequest(1);
    call.signal('SIGINT');
    expect(await call.outcome).toMatchObject({ code: 130, stdout: '' });
    await provider.idle();
    expect(provider.requests[0]?.outcome).toBe('left');
  });
});
