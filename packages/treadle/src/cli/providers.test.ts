import type { TreadleEvent } from '@treadle/core';
import { fakeProvider, type ProviderTurn } from '@treadle/testing';

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { jsonLines, runCli, temporaryFolder } from '../test-support/harness.ts';
import { orderProblems } from '../test-support/order.ts';

const WIRES = [
  { name: 'anthropic', variable: 'ANTHROPIC_BASE_URL', key: 'ANTHROPIC_API_KEY', url: 'anthropicBaseUrl' },
  { name: 'openai', variable: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', url: 'openaiBaseUrl' },
] as const;

/** Lists, reads and writes: three calls in two turns, then an answer. */
const JOB: readonly ProviderTurn[] = [
  {
    text: 'I look at the folder and the file.',
    toolCalls: [
      { name: 'list_files', arguments: { path: 'data' } },
      { name: 'read_file', arguments: { path: 'data/figures.txt' } },
    ],
  },
  { text: 'Now I write.', toolCalls: [{ name: 'write_file', arguments: { path: 'out/sum.txt', content: '42\n' } }] },
  { text: 'The sum is 42; it is in out/sum.txt.' },
];

describe.each(WIRES)('a job of three tool calls over the wire of $name', ({ name, variable, key, url }) => {
  const model = ['--model', `${name}/x`];

  it('is done, and its events keep their order', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'data'));
    await writeFile(join(folder.path, 'data/figures.txt'), '40\n2\n');
    await using provider = await fakeProvider(JOB);
    const env = { [variable]: provider[url], HOME: folder.path };
    const argv = ['run', 'Add the figures up.', ...model, '--cwd', '.', '--output-format', 'events'];
    const { code, stdout, stderr } = await runCli(argv, { cwd: folder.path, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await readFile(join(folder.path, 'out/sum.txt'), 'utf8')).toBe('42\n');
    const events = jsonLines<TreadleEvent>(stdout);
    expect(orderProblems(events)).toEqual([]);
    expect(skeleton(events)).toEqual([
      'session_created',
      'drive_started',
      'input_received',
      'run_started',
      'turn_started',
      'message_added user',
      'message_started',
      'message_delta',
      'message_added assistant',
      'decision_made',
      'decision_made',
      'tools 2',
      'turn_ended',
      'turn_started',
      'message_started',
      'message_delta',
      'message_added assistant',
      'decision_made',
      'file_checkpointed',
      'tools 1',
      'turn_ended',
      'turn_started',
      'message_started',
      'message_delta',
      'message_added assistant',
      'turn_ended',
      'run_ended',
    ]);
    expect(provider.requests.map(({ problems }) => problems)).toEqual([[], [], []]);
    expect(provider.requests[2]?.rawBody).toContain('40');
  });

  it('goes on with -c: the second call’s request has the first call’s messages', async () => {
    await using folder = await temporaryFolder();
    await using provider = await fakeProvider([...JOB, 'It was 42.']);
    const options = { cwd: folder.path, env: { [variable]: provider[url], HOME: folder.path } };
    await runCli(['run', 'Add the figures up.', ...model, '--allow', 'write'], options);
    const { code, stdout } = await runCli(['run', '-c', 'What was the sum?', ...model], options);
    expect({ code, first: stdout.split('\n')[0] }).toEqual({ code: 0, first: 'It was 42.' });
    const last = provider.requests.at(-1);
    for (const text of ['Add the figures up.', 'Now I write.', 'it is in out/sum.txt', 'What was the sum?']) {
      expect(last?.rawBody).toContain(text);
    }
    expect(last?.problems).toEqual([]);
  });

  it('fails with the provider’s reason, and never with its key', async () => {
    await using provider = await fakeProvider([], { apiKey: 'right' });
    const env = { [variable]: provider[url], [key]: 'wrong-key-1234567890' };
    const { code, stdout, stderr } = await runCli(['Go.', ...model], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('not the right one');
    expect(stdout + stderr).not.toContain('wrong-key');
  });

  it('is the default when its key is there', async () => {
    await using provider = await fakeProvider(['Hello.']);
    const env = { [variable]: provider[url], [key]: 'any' };
    const { code, stderr } = await runCli(['Go.'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`Model: ${name}/`) as string });
    expect(provider.requests[0]?.body).toMatchObject({ model: expect.stringMatching(/^(claude|gpt)-/) as string });
  });
});

describe('the default model', () => {
  it('is the one of TREADLE_MODEL, before any key', async () => {
    await using provider = await fakeProvider(['Hello.']);
    const env = { TREADLE_MODEL: 'openai/mine', OPENAI_BASE_URL: provider.openaiBaseUrl, ANTHROPIC_API_KEY: 'any' };
    const { stderr } = await runCli(['Go.'], { env });
    expect(stderr).toBe('treadle: Model: openai/mine (from TREADLE_MODEL).\n');
    expect(provider.requests[0]?.body).toMatchObject({ model: 'mine' });
  });

  it('is the demo model without a key, and says so in one line', async () => {
    const { code, stderr } = await runCli(['What can you do?'], { env: { ANTHROPIC_API_KEY: '' } });
    expect({ code, lines: stderr.split('\n').length - 1 }).toEqual({ code: 0, lines: 1 });
    expect(stderr).toMatch(/^treadle: Model: demo\/.*no ANTHROPIC_API_KEY or OPENAI_API_KEY/);
  });

  it('needs no word when the user named it', async () => {
    expect(await runCli(['What can you do?', '--model', 'demo'], {})).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(['nobody/x', 'openai', 'openai/', 'demo/large', 'anthropic/x'])('is refused as %s', async (name) => {
    const { code, stdout, stderr } = await runCli(['Go.', '--model', name], {});
    expect({ code, stdout, words: stderr.length > 30 }).toEqual({ code: 2, stdout: '', words: true });
  });
});

/** The types in order; neighbouring deltas as one, and the tools of a turn, which overlap, as their number. */
function skeleton(events: readonly TreadleEvent[]): string[] {
  const shown: string[] = [];
  let tools = 0;
  for (const event of events) {
    if (event.type === 'tool_ended') tools += 1;
    if (event.type.startsWith('tool_')) continue;
    if (tools > 0) shown.push(`tools ${tools}`);
    tools = 0;
    const name = event.type === 'message_added' ? `${event.type} ${event.message.role}` : event.type;
    if (name !== 'message_delta' || shown.at(-1) !== name) shown.push(name);
  }
  return shown;
}
