// @module-tag slow

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Json } from '../test-support/agent-sdk/client.ts';
import { ownServer } from '../test-support/agent-sdk/own-server.ts';
import { all, last, prompts, recorded, until, world } from '../test-support/agent-sdk/world.ts';

const WRITES = { toolCalls: [{ name: 'bash', arguments: { command: 'echo plum > a.txt' } }] };
const READS = { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] };

describe('servers that the client sets while the session is open', () => {
  it('are there from the next turn on, and are turned off, connected anew, and taken away', async () => {
    const calls = { toolCalls: [{ name: 'mcp__clock__now' }] };
    await using w = await world(['One.', calls, 'Noon.', 'Three.', 'Four.', 'Five.']);
    const record = recorded(w);
    const asking = prompts();
    const clock = ownServer('clock', 'now', async () => 'noon');
    const running = w.drive(asking, { ownServers: { clock }, allowedTools: ['mcp__clock__now'] }, record.testing);
    const messages = running[Symbol.asyncIterator]();
    const toolsOf = async (text: string): Promise<unknown> => {
      asking.say(text);
      return (await until(messages, 'result')).find(({ subtype }) => subtype === 'init')?.['tools'];
    };
    expect(await toolsOf('First.')).not.toContain('mcp__clock__now');
    const broken = { type: 'carrier-pigeon' };
    expect(
      await running.request('mcp_set_servers', { servers: { clock: { type: 'sdk', name: 'clock' }, broken } }),
    ).toMatchObject({ added: ['clock'], removed: [], errors: { broken: expect.any(String) } });
    expect(await toolsOf('What time is it?')).toContain('mcp__clock__now');
    expect(clock.called).toEqual(['now']);
    expect(await running.request('mcp_toggle', { serverName: 'clock', enabled: false })).toEqual({});
    expect(await running.mcpServerStatus()).toMatchObject({
      mcpServers: [{ name: 'clock', status: 'disabled' }],
    });
    await expect(running.request('mcp_reconnect', { serverName: 'clock' })).rejects.toThrow('disabled');
    await expect(running.request('mcp_toggle', { serverName: 'none', enabled: true })).rejects.toThrow(
      'There is no MCP server none',
    );
    expect(await toolsOf('Third.')).not.toContain('mcp__clock__now');
    await running.request('mcp_toggle', { serverName: 'clock', enabled: true });
    expect(await running.request('mcp_reconnect', { serverName: 'clock' })).toEqual({});
    expect(await toolsOf('Fourth.')).toContain('mcp__clock__now');
    expect(await running.request('mcp_set_servers', { servers: {} })).toEqual({
      added: [],
      removed: ['clock'],
      errors: {},
    });
    expect(await toolsOf('Fifth.')).not.toContain('mcp__clock__now');
    asking.end();
    expect((await running.ended).code).toBe(0);
    await record.matches('servers');
  });
});

describe('settings that the client gives while the session is open', () => {
  it('hold from the next turn on, over the hooks that the session has, and are taken back by null', async () => {
    await using w = await world([WRITES, 'One.', WRITES, 'Two.', WRITES, 'Three.']);
    const record = recorded(w);
    const asking = prompts();
    const told: unknown[] = [];
    const tell = async ({ hook_event_name: name }: Json): Promise<Json> => {
      told.push(name);
      return {};
    };
    const hooks = { SessionStart: [{ hooks: [tell] }], SessionEnd: [{ hooks: [tell] }] };
    const running = w.drive(asking, { hooks }, record.testing);
    const messages = running[Symbol.asyncIterator]();
    const denials = async (): Promise<unknown> => {
      asking.say('Write.');
      return last(await until(messages, 'result'))['permission_denials'];
    };
    const apply = (settings: Json) => running.request('apply_flag_settings', { settings });
    expect(await denials()).toHaveLength(1);
    expect(await apply({ permissions: { allow: ['Bash'] }, model: 'claude-haiku-5-5' })).toEqual({});
    expect(await denials()).toHaveLength(0);
    expect(w.provider.requests.at(-1)?.body).toMatchObject({ model: 'claude-haiku-5-5' });
    expect(await apply({ permissions: null })).toEqual({});
    expect(await denials()).toHaveLength(1);
    await expect(apply({ permissions: { deny: ['Read(src'] } })).rejects.toThrow('parenthesis');
    await expect(apply({ permissions: { defaultMode: 'bypassPermissions' } })).rejects.toThrow('bypassPermissions');
    await expect(apply({ env: { A: '1' } })).rejects.toThrow('environment');
    // What is asked for of the window and the money is of the turns so far.
    expect(await running.request('get_context_usage')).toMatchObject({
      model: 'claude-haiku-5-5',
      categories: expect.arrayContaining([expect.objectContaining({ id: 'messages' })]),
      totalTokens: expect.any(Number),
    });
    expect(await running.request('get_session_cost')).toEqual({ text: expect.stringContaining('claude-haiku-5-5') });
    expect(await running.request('list_models')).toMatchObject({ models: [{ value: 'default' }] });
    expect(await running.request('get_binary_version')).toMatchObject({ version: expect.stringMatching(/^2\./) });
    expect(told).toEqual(['SessionStart']);
    asking.end();
    await running.ended;
    await record.matches('settings');
  });
});

describe('settings that can not be read any more', () => {
  it('are told in the result of each message, until they can', async () => {
    await using w = await world(['One.', 'Two.']);
    const asking = prompts();
    const running = w.drive(asking, {
      settingSources: ['user'],
      ownServers: { clock: ownServer('clock', 'now', async () => 'noon') },
    });
    const messages = running[Symbol.asyncIterator]();
    const resultOf = async (text: string): Promise<Json> => {
      asking.say(text);
      return last(await until(messages, 'result'));
    };
    expect(await resultOf('First.')).toMatchObject({ result: 'One.' });
    const file = join(w.home, '.claude/settings.json');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{');
    await running.request('mcp_set_servers', { servers: { clock: { type: 'sdk', name: 'clock' } } });
    for (const text of ['Second.', 'Third.'])
      expect(await resultOf(text)).toMatchObject({ is_error: true, errors: [expect.stringContaining('is no JSON')] });
    await writeFile(file, '{}');
    expect(await resultOf('Fourth.')).toMatchObject({ result: 'Two.' });
    asking.end();
    expect((await running.ended).code).toBe(0);
  });
});

describe('a permission that the client gives for settings', () => {
  const allow = (destination: string): Json => ({
    type: 'addRules',
    behavior: 'allow',
    rules: [{ toolName: 'Bash', ruleContent: 'echo plum > a.txt' }],
    destination,
  });

  it.each([
    ['localSettings', 'local', 'work/.claude/settings.local.json'],
    ['userSettings', 'user', 'home/.claude/settings.json'],
  ])('of %s is in the file, and holds in the next session that reads it', async (destination, source, file) => {
    await using w = await world([WRITES, 'Done.', WRITES, 'Done.']);
    let asked = 0;
    const said = {
      settingSources: [source],
      canUseTool: async () => {
        asked += 1;
        return { behavior: 'allow' as const, updatedPermissions: [allow(destination)] };
      },
    };
    const first = w.drive('Write.', said);
    await all(first);
    expect((await first.ended).stderr).toBe('');
    const path = join(w.folder, '..', file);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      permissions: { allow: ['Bash(echo plum > a.txt)'] },
    });
    if (destination === 'userSettings') expect((await stat(path)).mode & 0o777).toBe(0o600);
    await all(w.drive('Write.', said));
    expect(asked).toBe(1);
  });

  it('is in no file that the session does not read, and that is said', async () => {
    await using w = await world([WRITES, 'Done.']);
    const updatedPermissions = [allow('localSettings')];
    const running = w.drive('Write.', { canUseTool: async () => ({ behavior: 'allow', updatedPermissions }) });
    await all(running);
    expect((await running.ended).stderr).toContain('--setting-sources has no local');
    await expect(stat(join(w.folder, '.claude'))).rejects.toThrow('ENOENT');
  });
});

describe('the mode bypassPermissions', () => {
  it('needs the flag that says how dangerous it is', async () => {
    await using w = await world([WRITES, 'Done.']);
    const refused = w.drive('Write.', { permissionMode: 'bypassPermissions' });
    expect(await all(refused)).toEqual([]);
    const { code, stderr } = await refused.ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining('--allow-dangerously-skip-permissions')]);
    const said = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true };
    expect(last(await all(w.drive('Write.', said)))).toMatchObject({ permission_denials: [] });
  });
});

describe('options of the session', () => {
  it('mirror the transcript line by line', async () => {
    await using w = await world(['Hello.']);
    const record = recorded(w);
    const messages = await all(w.drive('Hi.', { extraArgs: { 'session-mirror': null } }, record.testing));
    const rows = messages.flatMap(({ type, entries }) => (type === 'transcript_mirror' ? (entries as Json[]) : []));
    const [path] = messages.flatMap(({ filePath }) => (typeof filePath === 'string' ? [filePath] : []));
    const lines = (await readFile(path ?? '', 'utf8')).trim().split('\n');
    expect(rows).toEqual(lines.map((line) => JSON.parse(line) as Json));
    expect(rows.map(({ type }) => type)).toEqual(['user', 'assistant']);
    await record.matches('mirror');
  });

  it('end a turn that has used up its tokens', async () => {
    await using w = await world([READS, READS]);
    const messages = await all(w.drive('Read.', { extraArgs: { 'task-budget': '10' } }));
    expect(last(messages)).toMatchObject({ subtype: 'error_during_execution', terminal_reason: 'token_limit' });
  });

  it('drop exactly the turn that the client names', async () => {
    await using w = await world(['One.', 'Two.', 'Three.', 'Four.']);
    const [kept, dropped] = ['0b8d7f1e-0000-4000-8000-000000000001', '0b8d7f1e-0000-4000-8000-000000000002'] as const;
    const sessionId = '0b8d7f1e-0000-4000-8000-00000000000b';
    const asking = prompts();
    const running = w.drive(asking, { sessionId });
    const messages = running[Symbol.asyncIterator]();
    asking.say('First.', kept);
    const first = await until(messages, 'result');
    asking.say('Second.', dropped);
    await until(messages, 'result');
    asking.end();
    await running.ended;
    const at = String(first.findLast(({ type }) => type === 'assistant')?.['uuid']);
    const drop = (uuid: string) => ({
      resume: sessionId,
      resumeSessionAt: at,
      extraArgs: { 'resume-drops-turn': uuid },
    });
    const wrong = w.drive('Third.', drop(kept));
    expect(last(await all(wrong))).toMatchObject({
      subtype: 'error_during_execution',
      errors: [expect.stringMatching(/^Resume rejected by --resume-drops-turn:/)],
    });
    expect((await wrong.ended).code).toBe(1);
    expect(last(await all(w.drive('Third.', drop(dropped))))).toMatchObject({ result: 'Three.' });
    expect(w.provider.requests.at(-1)?.rawBody).not.toContain('Second.');
  });
});
