// @module-tag slow

import {
  methods,
  PROTOCOL_VERSION,
  type ClientCapabilities,
  type McpServer,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { sqliteJournal } from '@treadle/store';
import { fakeProvider, type ProviderTurn } from '@treadle/testing';
import type { DurableEvent, JsonObject } from '@treadle/core';

import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { openEditor, problemsOf, type Editor, type EditorScript } from '../test-support/acp-editor.ts';
import { FROM_AGENT, FROM_CLIENT, UPDATES } from '../test-support/acp-table.ts';
import { findFolderSettings, trustFolder } from '../settings/combine.ts';
import { temporaryFolder } from '../test-support/harness.ts';

const { session } = methods.agent;
const NEVER = new Promise<never>(() => {});
/** A machine may be slow. */
const PATIENCE = { timeout: 20_000 };
const HANGING: ProviderTurn = { text: 'This is the beginning of', waitAfter: { deltas: 1, until: NEVER } };

/** An editor that offers all there is, as Zed does. */
const ZED: ClientCapabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { compaction: {}, notices: {}, configOptions: { boolean: {} } },
  elicitation: { form: {} },
};

/** A plugin of a terminal editor: it shows texts and asks for permissions, and offers nothing. */
const NEOVIM: ClientCapabilities = { fs: { readTextFile: false, writeTextFile: false } };

/** What the conversations of all tests had: methods with who sent them, and kinds of updates. */
const driven = new Set<string>();

/** A folder, a provider whose turns are given, and editors that work there. */
async function world(turns: readonly (ProviderTurn | string)[]) {
  const top = await temporaryFolder();
  const folder = join(top.path, 'project');
  await mkdir(folder);
  const provider = await fakeProvider(turns);
  const editors: Editor[] = [];
  return {
    folder,
    provider,
    read: (path: string) => readFile(join(folder, path), 'utf8'),
    put: (path: string, text: string) => writeFile(join(folder, path), text),
    /** Puts a file into the home folder. */
    async keep(path: string, value: unknown) {
      await mkdir(join(top.path, path, '..'), { recursive: true });
      await writeFile(join(top.path, path), typeof value === 'string' ? value : JSON.stringify(value));
    },
    async editor(script: EditorScript, ...args: readonly string[]) {
      const env = { ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_API_KEY: 'sk-of-the-test' };
      const opened = await openEditor({ ...script, cwd: top.path, env, args: ['--model', 'anthropic/x', ...args] });
      editors.push(opened);
      await opened.agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: script.capabilities,
        clientInfo: { name: 'editor', version: '1.0.0' },
      });
      return opened;
    },
    async log(sessionId: string): Promise<DurableEvent[]> {
      const journal = sqliteJournal({ path: join(top.path, '.treadle/sessions.db') });
      const events: DurableEvent[] = [];
      for await (const event of journal.read(sessionId, 1)) events.push(event);
      await journal.close();
      return events;
    },
    async [Symbol.asyncDispose]() {
      for (const editor of editors) {
        await editor[Symbol.asyncDispose]();
        for (const { from, message } of editor.conversation) {
          if (message.method !== undefined) driven.add(`${from} ${message.method}`);
          const { update } = (message.params ?? {}) as { readonly update?: SessionUpdate };
          if (update) driven.add(update.sessionUpdate);
        }
      }
      await provider.close();
      await top[Symbol.asyncDispose]();
    },
  };
}

const begin = async ({ agent }: Editor, cwd: string) => agent.request(session.new, { cwd, mcpServers: [] });

const say = ({ agent }: Editor, sessionId: string, text: string) =>
  agent.request(session.prompt, { sessionId, prompt: [{ type: 'text', text }] });

const textOf = (updates: readonly SessionUpdate[]): string =>
  updates
    .flatMap((update) =>
      update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? [update.content.text] : [],
    )
    .join('');

const ofKind = <Kind extends SessionUpdate['sessionUpdate']>(updates: readonly SessionUpdate[], kind: Kind) =>
  updates.filter((update): update is Extract<SessionUpdate, { sessionUpdate: Kind }> => update.sessionUpdate === kind);

describe('treadle acp', () => {
  it('answers a prompt, tells of each call, and is asked for nothing that it may do', { tags: ['share'] }, async () => {
    await using w = await world([
      { thinking: 'Let me see.', text: 'I look.', toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      'It says plum.',
    ]);
    await w.put('a.txt', 'plum\n');
    const editor = await w.editor({ capabilities: NEOVIM });
    const { sessionId, modes, configOptions } = await begin(editor, w.folder);
    expect(modes).toMatchObject({ currentModeId: 'default' });
    expect(configOptions?.map(({ id, category }) => [id, category])).toEqual([
      ['mode', 'mode'],
      ['model', 'model'],
      ['thinking', 'thought_level'],
    ]);
    expect(await say(editor, sessionId, 'What does it say?')).toEqual({ stopReason: 'end_turn' });
    const updates = editor.updates(sessionId);
    expect(textOf(updates)).toBe('I look.It says plum.');
    expect(ofKind(updates, 'agent_thought_chunk')).not.toEqual([]);
    expect(ofKind(updates, 'tool_call')).toMatchObject([{ name: 'read_file', kind: 'read', status: 'pending' }]);
    expect(ofKind(updates, 'tool_call_update').at(-1)).toMatchObject({
      status: 'completed',
      locations: [{ path: join(w.folder, 'a.txt') }],
    });
    expect(editor.asked).toEqual([]);
    expect(problemsOf(editor)).toEqual([]);
  });

  it('asks before it changes a file, shows the change, and remembers what is allowed', async () => {
    const edit = (from: string, to: string): ProviderTurn => ({
      toolCalls: [{ name: 'edit_file', arguments: { path: 'a.txt', old_text: from, new_text: to } }],
    });
    await using w = await world([
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      edit('plum', 'pear'),
      edit('pear', 'fig'),
      { toolCalls: [{ name: 'write_file', arguments: { path: 'b.txt', content: 'new\n' } }] },
      { toolCalls: [{ name: 'write_file', arguments: { path: 'c.txt', content: 'new\n' } }] },
      'Done.',
    ]);
    await w.put('a.txt', 'plum\n');
    await w.put('c.txt', 'old\n');
    const answers = ['allow-session', 'reject_once', 'reject_once'];
    const editor = await w.editor({ capabilities: NEOVIM, permit: () => answers.shift() ?? 'cancelled' });
    const { sessionId } = await begin(editor, w.folder);
    expect(await say(editor, sessionId, 'Change it.')).toEqual({ stopReason: 'end_turn' });
    expect(await w.read('a.txt')).toBe('fig\n');
    expect(editor.asked.map(({ toolCall }) => toolCall)).toMatchObject([
      {
        name: 'edit_file',
        kind: 'edit',
        status: 'pending',
        content: [{ type: 'diff', path: join(w.folder, 'a.txt'), oldText: 'plum', newText: 'pear' }, {}],
      },
      { name: 'write_file', content: [{ type: 'diff', oldText: null, newText: 'new\n' }, {}] },
      { name: 'write_file', content: [{ type: 'diff', oldText: 'old\n', newText: 'new\n' }, {}] },
    ]);
    expect(editor.asked[0]?.options.map(({ kind }) => kind)).toEqual([
      'allow_once',
      'allow_always',
      'allow_always',
      'reject_once',
    ]);
    const ended = ofKind(editor.updates(sessionId), 'tool_call_update').filter(({ status }) => status === 'failed');
    expect(ended).toHaveLength(2);
    await expect(w.read('b.txt')).rejects.toThrow('ENOENT');
    expect(problemsOf(editor)).toEqual([]);
  });

  it('stops where the client cancels: while the model speaks, and while it asks', async () => {
    await using w = await world([
      HANGING,
      { toolCalls: [{ name: 'bash', arguments: { command: 'touch x' } }] },
      'Never mind.',
    ]);
    let asking: () => void = () => {};
    const isAsked = new Promise<void>((resolve) => (asking = resolve));
    const permit = () => {
      asking();
      return NEVER;
    };
    const editor = await w.editor({ capabilities: NEOVIM, permit });
    const { sessionId } = await begin(editor, w.folder);
    const speaking = say(editor, sessionId, 'Speak.');
    await expect.poll(() => textOf(editor.updates(sessionId)), PATIENCE).not.toBe('');
    await expect(say(editor, sessionId, 'At the same time.')).rejects.toMatchObject({ code: -32_600 });
    await editor.agent.notify(session.cancel, { sessionId });
    expect(await speaking).toEqual({ stopReason: 'cancelled' });

    const touching = say(editor, sessionId, 'Touch x.');
    await isAsked;
    await editor.agent.notify(session.cancel, { sessionId });
    expect(await touching).toEqual({ stopReason: 'cancelled' });
    expect(ofKind(editor.updates(sessionId), 'tool_call_update').at(-1)).toMatchObject({ status: 'failed' });
    await expect(w.read('x')).rejects.toThrow('ENOENT');

    expect(await say(editor, sessionId, 'Never mind?')).toEqual({ stopReason: 'end_turn' });
    expect(problemsOf(editor)).toEqual([]);
  });

  it('keeps the agents of a trusted folder as they were when the session began', async () => {
    await using w = await world(['Hello.']);
    const agent = (description: string) =>
      w.keep('project/.treadle/agents/reader.md', `---\nname: reader\ndescription: ${description}\n---\nYou read.`);
    await agent('Reads files.');
    await trustFolder(await findFolderSettings(w.folder, { env: { HOME: join(w.folder, '..') }, cwd: w.folder }));
    const editor = await w.editor({ capabilities: NEOVIM });
    const { sessionId } = await begin(editor, w.folder);
    await agent('Sends files.');
    const value = 'anthropic/claude-sonnet-5-5';
    await editor.agent.request(session.setConfigOption, { sessionId, configId: 'model', value });
    await say(editor, sessionId, 'Hello.');
    const { body } = w.provider.requests[0] ?? {};
    expect(JSON.stringify(body)).toContain('Reads files.');
    expect(JSON.stringify(body)).not.toContain('Sends files.');
  });

  it('has modes, models and levels of thinking, and keeps them with the session', async () => {
    const write: ProviderTurn = { toolCalls: [{ name: 'write_file', arguments: { path: 'b.txt', content: 'b' } }] };
    await using w = await world([write, 'Written.', 'Planned.']);
    const editor = await w.editor({ capabilities: NEOVIM });
    const { sessionId } = await begin(editor, w.folder);
    await editor.agent.request(session.setMode, { sessionId, modeId: 'acceptEdits' });
    const set = (configId: string, value: string) =>
      editor.agent.request(session.setConfigOption, { sessionId, configId, value });
    const { configOptions } = await set('model', 'anthropic/claude-sonnet-5-5');
    expect(configOptions.map(({ currentValue }) => currentValue)).toEqual([
      'acceptEdits',
      'anthropic/claude-sonnet-5-5',
      'default',
    ]);
    await set('thinking', 'low');
    for (const [id, value] of [
      ['mode', 'bypass'],
      ['model', 'nobody/x'],
      ['thinking', 'much'],
      ['colour', 'red'],
    ] as const)
      await expect(set(id, value)).rejects.toMatchObject({ code: -32_602 });
    await say(editor, sessionId, 'Write b.');
    expect(editor.asked).toEqual([]);
    expect(await w.read('b.txt')).toBe('b');
    expect(w.provider.requests[0]?.body).toMatchObject({ model: 'claude-sonnet-5-5', thinking: {} });
    await set('mode', 'plan');
    expect(ofKind(editor.updates(sessionId), 'current_mode_update').map(({ currentModeId }) => currentModeId)).toEqual([
      'acceptEdits',
      'plan',
    ]);

    await editor.agent.request(session.close, { sessionId });
    await expect(say(editor, sessionId, 'Hello?')).rejects.toMatchObject({ code: -32_002 });
    const again = await editor.agent.request(session.resume, { sessionId, cwd: w.folder });
    expect(again.modes?.currentModeId).toBe('plan');
    expect(again.configOptions?.map(({ currentValue }) => currentValue)).toEqual([
      'plan',
      'anthropic/claude-sonnet-5-5',
      'low',
    ]);
    expect(problemsOf(editor)).toEqual([]);
  });

  it('takes audio, which is kept and sent to models that hear', async () => {
    await using w = await world(['Done.']);
    const editor = await w.editor({ capabilities: NEOVIM });
    const { sessionId } = await begin(editor, w.folder);
    const audio = { type: 'audio' as const, data: 'UklGRg==', mimeType: 'audio/wav' };
    const prompt = [{ type: 'text' as const, text: 'Listen.' }, audio];
    expect(await editor.agent.request(session.prompt, { sessionId, prompt })).toEqual({ stopReason: 'end_turn' });
    expect(JSON.stringify(await w.log(sessionId))).toContain('"mediaType":"audio/wav"');
    expect(problemsOf(editor)).toEqual([]);
  });

  it('says whether there are keys, and how to log in', async () => {
    await using w = await world([]);
    const editor = await w.editor({ capabilities: { ...NEOVIM, auth: { terminal: true } } });
    const initialize = { protocolVersion: PROTOCOL_VERSION, clientCapabilities: { auth: { terminal: true } } };
    expect(await editor.agent.request(methods.agent.initialize, initialize)).toMatchObject({
      authMethods: [{ id: 'keys' }, { type: 'terminal', id: 'login', args: ['--login'] }],
    });
    expect(await editor.agent.request(methods.agent.authenticate, { methodId: 'keys' })).toEqual({});
    const bare = await openEditor({ capabilities: NEOVIM, cwd: w.folder, env: {}, args: [] });
    await bare.agent.request(methods.agent.initialize, initialize);
    await expect(bare.agent.request(methods.agent.authenticate, { methodId: 'keys' })).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('treadle login') as string,
    });
    await bare[Symbol.asyncDispose]();
  });

  it('lists, loads and deletes sessions, and a loaded one is as it was', async () => {
    const todos = [{ content: 'Look', status: 'in_progress', activeForm: 'Looking' }];
    await using w = await world([
      { text: 'I plan.', toolCalls: [{ name: 'todo', arguments: { todos } }] },
      'Planned.',
      'Back.',
    ]);
    const first = await w.editor({ capabilities: NEOVIM });
    const { sessionId } = await begin(first, w.folder);
    await say(first, sessionId, 'Make a plan.');
    const seen = first.updates(sessionId);
    expect(ofKind(seen, 'plan').at(-1)?.entries).toEqual([
      { content: 'Look', status: 'in_progress', priority: 'medium' },
    ]);
    await first[Symbol.asyncDispose]();
    expect(await first.ended).toBe(0);

    const second = await w.editor({ capabilities: ZED });
    const { sessions } = await second.agent.request(session.list, { cwd: w.folder });
    expect(sessions).toMatchObject([{ sessionId, cwd: w.folder, title: 'Make a plan.' }]);
    expect((await second.agent.request(session.list, {})).sessions).toHaveLength(1);
    await second.agent.request(session.load, { sessionId, cwd: w.folder, mcpServers: [] });
    const loaded = second.updates(sessionId);
    expect(ofKind(loaded, 'user_message_chunk')).toMatchObject([{ content: { text: 'Make a plan.' } }]);
    expect(textOf(loaded)).toBe(textOf(seen));
    expect(ofKind(loaded, 'plan')).toEqual(ofKind(seen, 'plan').slice(-1));
    expect(ofKind(loaded, 'tool_call_update').at(-1)).toEqual(ofKind(seen, 'tool_call_update').at(-1));
    expect(await say(second, sessionId, 'Are you there?')).toEqual({ stopReason: 'end_turn' });
    expect(w.provider.requests[2]?.rawBody).toContain('Make a plan.');
    await expect(second.agent.request(session.load, { sessionId, cwd: '/', mcpServers: [] })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining(w.folder) as string,
    });

    await second.agent.request(session.delete, { sessionId });
    expect((await second.agent.request(session.list, { cwd: w.folder })).sessions).toEqual([]);
    // The SDK takes it for done that a session isn't there.
    await second.agent.request(session.delete, { sessionId });
    expect([...problemsOf(first), ...problemsOf(second)]).toEqual([]);
  });
});

/** A tool server, as editors hand them on. */
const SERVER = join(import.meta.dirname, '../../../mcp/src/test-support/server-process.ts');
const mcpServer: McpServer = { name: 'kitchen', command: process.execPath, args: [SERVER], env: [] };

describe('an editor like Zed', () => {
  it('has its own buffers, terminals, servers and forms used', async () => {
    const call = (name: string, args: JsonObject = {}): ProviderTurn => ({ toolCalls: [{ name, arguments: args }] });
    const questions = [
      {
        question: 'Which one?',
        header: 'Fruit',
        options: [
          { label: 'Fig', description: 'Sweet.' },
          { label: 'Quince', description: '' },
        ],
      },
    ];
    await using w = await world([
      call('read_file', { path: 'a.txt' }),
      call('edit_file', { path: 'a.txt', old_text: 'unsaved plum', new_text: 'pear' }),
      call('write_file', { path: 'sub/b.txt', content: 'new\n' }),
      call('bash', { command: 'echo from the terminal; exit 3' }),
      call('mcp__kitchen__order'),
      call('ask_user', { questions }),
      'Done.',
    ]);
    await w.keep('.config/treadle/settings.json', { sandbox: { mode: 'off' } });
    await w.put('a.txt', 'plum\n');
    const buffers = new Map([[join(w.folder, 'a.txt'), 'unsaved plum\n']]);
    const editor = await w.editor({
      capabilities: ZED,
      buffers,
      fill: ({ message }) => ({
        action: 'accept',
        content: message === 'Which one?' ? { question0: 'Fig' } : { item: 'tea', count: 2 },
      }),
    });
    const { sessionId } = await editor.agent.request(session.new, { cwd: w.folder, mcpServers: [mcpServer] });
    expect(await say(editor, sessionId, 'Work.')).toEqual({ stopReason: 'end_turn' });

    expect(w.provider.requests[1]?.rawBody).toContain('unsaved plum');
    expect(await w.read('a.txt')).toBe('pear\n');
    expect(await w.read('sub/b.txt')).toBe('new\n');
    expect(buffers.size).toBe(0);
    expect(w.provider.requests[4]?.rawBody).toMatch(/exit code 3\\noutput:\\nfrom the terminal/);
    expect(editor.terminals.map(({ isReleased }) => isReleased)).toEqual([true]);
    const shown = ofKind(editor.updates(sessionId), 'tool_call_update').filter(({ content }) =>
      content?.some(({ type }) => type === 'terminal'),
    );
    expect(shown.at(-1)).toMatchObject({ status: 'completed', rawOutput: { exitCode: 3 } });
    expect(w.provider.requests[5]?.rawBody).toMatch(/Ordered .*tea/);
    expect(w.provider.requests[6]?.rawBody).toMatch(/Fig/);
    expect(problemsOf(editor)).toEqual([]);
  });

  it('kills the terminal of a prompt that is cancelled', async () => {
    await using w = await world([
      { toolCalls: [{ name: 'bash', arguments: { command: 'echo go; sleep 600' } }] },
      'No.',
    ]);
    await w.keep('.config/treadle/settings.json', { sandbox: { mode: 'off' } });
    const editor = await w.editor({ capabilities: ZED });
    const { sessionId } = await begin(editor, w.folder);
    const working = say(editor, sessionId, 'Sleep.');
    await expect.poll(() => editor.terminals[0]?.output, PATIENCE).toBe('go\n');
    await editor.agent.notify(session.cancel, { sessionId });
    expect(await working).toEqual({ stopReason: 'cancelled' });
    expect(await editor.terminals[0]?.exit).toMatchObject({ signal: 'SIGKILL' });
    expect(editor.terminals[0]?.isReleased).toBe(true);
    expect(problemsOf(editor)).toEqual([]);
  });

  it('hears why a run ended early, and may take a request back', async () => {
    await using w = await world([{ toolCalls: [{ name: 'list_files' }] }, HANGING]);
    const editor = await w.editor({ capabilities: ZED }, '--max-turns', '1');
    const { sessionId } = await begin(editor, w.folder);
    expect(await say(editor, sessionId, 'List.')).toEqual({ stopReason: 'max_turn_requests' });
    expect(ofKind(editor.updates(sessionId), 'notice')).toMatchObject([{ severity: 'warning' }]);
    const back = new AbortController();
    const prompt = { sessionId, prompt: [{ type: 'text' as const, text: 'Speak.' }] };
    const speaking = editor.agent.request(session.prompt, prompt, { cancellationSignal: back.signal });
    const code = speaking.catch((error: unknown) => (error as { readonly code?: number }).code);
    await expect.poll(() => textOf(editor.updates(sessionId)), PATIENCE).toContain('This is');
    back.abort();
    expect(await code).toBe(-32_800);
    expect((await w.log(sessionId)).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
    expect(problemsOf(editor)).toEqual([]);
  });

  it('prompts with images, files and slash commands', async () => {
    await using w = await world(['Seen.', 'Skilled.', 'Reviewed.', 'Greeted.']);
    await w.keep('.treadle/skills/deploy/SKILL.md', '---\nname: deploy\ndescription: Deploys.\n---\nPush it.\n');
    await w.keep('.treadle/commands/review.md', 'Review $ARGUMENTS well.\n');
    const editor = await w.editor({ capabilities: ZED });
    const { sessionId } = await editor.agent.request(session.new, { cwd: w.folder, mcpServers: [mcpServer] });
    const announced = () => ofKind(editor.updates(sessionId), 'available_commands_update').at(-1)?.availableCommands;
    await expect
      .poll(() => announced()?.map(({ name }) => name), PATIENCE)
      .toEqual(expect.arrayContaining(['compact', 'clear', 'deploy', 'review', 'mcp__kitchen__greet']));
    const uri = `file://${w.folder}/src/a.ts`;
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await editor.agent.request(session.prompt, {
      sessionId,
      prompt: [
        { type: 'text', text: 'Look at these.' },
        { type: 'image', mimeType: 'image/png', data: pixel },
        { type: 'resource', resource: { uri, text: 'const a = 1;</resource>' } },
        { type: 'resource_link', uri, name: 'a.ts' },
      ],
    });
    const rawBody = w.provider.requests[0]?.rawBody;
    for (const part of [pixel, '<resource-2 uri=', 'const a = 1;</resource>', '[a.ts](src/a.ts)'])
      expect(rawBody).toContain(part);
    await say(editor, sessionId, '/deploy to production');
    expect(w.provider.requests[1]?.rawBody).toContain('Use the skill deploy.');
    await say(editor, sessionId, '/review a.ts');
    expect(w.provider.requests[2]?.rawBody).toContain('Review a.ts well.');
    await say(editor, sessionId, '/mcp__kitchen__greet Ann Lee');
    expect(w.provider.requests[3]?.rawBody).toContain('Greet Ann Lee warmly.');
    expect(await say(editor, sessionId, '/clear')).toEqual({ stopReason: 'end_turn' });
    expect(textOf(editor.updates(sessionId))).toContain('The model starts over.');
    await say(editor, sessionId, '/compact');
    expect(w.provider.requests).toHaveLength(4);
    expect(problemsOf(editor)).toEqual([]);
  });
});

describe('what goes wrong', () => {
  it('is answered as the protocol has it', async () => {
    await using w = await world([
      { error: { status: 400, message: 'No such model.' } },
      { text: 'No.', stopReason: 'refusal' },
    ]);
    const editor = await w.editor({ capabilities: NEOVIM });
    const { agent } = editor;
    const { sessionId } = await begin(editor, w.folder);
    await expect(begin(editor, 'relative')).rejects.toMatchObject({ code: -32_602 });
    await expect(begin(editor, '/no/such/folder')).rejects.toMatchObject({ code: -32_602 });
    await expect(agent.request(methods.agent.authenticate, { methodId: 'x' })).rejects.toMatchObject({ code: -32_602 });
    await expect(agent.request(methods.agent.logout, {})).rejects.toMatchObject({ code: -32_601 });
    await expect(agent.request('session/fly', {})).rejects.toMatchObject({ code: -32_601 });
    const load = { sessionId: 'session_gone', cwd: w.folder, mcpServers: [] };
    await expect(agent.request(session.load, load)).rejects.toMatchObject({ code: -32_002 });
    await expect(
      agent.request(session.new, { cwd: w.folder, mcpServers: [], additionalDirectories: ['other'] }),
    ).rejects.toMatchObject({ code: -32_602 });
    await expect(agent.request(session.prompt, { sessionId, prompt: [] })).rejects.toMatchObject({ code: -32_602 });
    await expect(say(editor, sessionId, 'Fail.')).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining('No such model.') as string,
    });
    expect(await say(editor, sessionId, 'Refuse.')).toEqual({ stopReason: 'refusal' });
  });

  it('works in the further folders that the editor names', async () => {
    await using other = await temporaryFolder();
    const there = await realpath(other.path);
    const path = join(there, 'a.txt');
    await writeFile(path, 'plum\n');
    const call = (name: string, more: Record<string, string> = {}): ProviderTurn => ({
      toolCalls: [{ name, arguments: { path, ...more } }],
    });
    await using w = await world([
      call('read_file'),
      call('edit_file', { old_text: 'plum', new_text: 'pear' }),
      'Done.',
    ]);
    const editor = await w.editor({ capabilities: NEOVIM, permit: () => 'allow_once' });
    const { sessionId } = await editor.agent.request(session.new, {
      cwd: w.folder,
      mcpServers: [],
      additionalDirectories: [there],
    });
    expect(await say(editor, sessionId, 'Change it.')).toEqual({ stopReason: 'end_turn' });
    expect(await readFile(path, 'utf8')).toBe('pear\n');
    // It is read unasked, as in the session's own folder.
    expect(editor.asked.map(({ toolCall }) => toolCall)).toMatchObject([
      { name: 'edit_file', content: [{ type: 'diff', path, oldText: 'plum', newText: 'pear' }, {}] },
    ]);
    expect(ofKind(editor.updates(sessionId), 'tool_call_update').at(-1)).toMatchObject({ locations: [{ path }] });
    expect(problemsOf(editor)).toEqual([]);
  });

  it('keeps to whole JSON lines, whatever comes in', async () => {
    await using w = await world(['Hello.']);
    const editor = await w.editor({ capabilities: NEOVIM });
    const { sessionId } = await begin(editor, w.folder);
    const before = editor.conversation.length;
    // The SDK says that it has asked nothing of the kind.
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const lines = [
      'garbage',
      '[]',
      '17',
      '{}',
      '{"jsonrpc":"2.0","id":900,"method":"session/prompt","params":{"sessionId":7}}',
      '{"jsonrpc":"2.0","id":901,"method":"session/prompt"}',
      '{"jsonrpc":"2.0","method":"session/unknown","params":{}}',
      '{"jsonrpc":"2.0","id":902,"result":{}}',
      `{"jsonrpc":"2.0","id":903,"method":"session/list","params":{"cwd":"${'x'.repeat(10_000_000)}"}}`,
      '{"jsonrpc":"2.0","id":904,"method":"session/list"',
    ];
    await new Promise((resolve) => editor.child.stdin.write(`${lines.join('\n')}\n`, resolve));
    await expect.poll(() => editor.conversation.at(-1)?.message.id, PATIENCE).toBe(903);
    expect(await say(editor, sessionId, 'Still there?')).toEqual({ stopReason: 'end_turn' });
    const errors = editor.conversation.slice(before).flatMap(({ from, message: { id, error } }) => {
      const { code } = (error ?? {}) as { readonly code?: number };
      return from === 'agent' && code !== undefined ? [[id, code]] : [];
    });
    expect(errors).toEqual(
      expect.arrayContaining([
        [null, -32_700],
        [null, -32_600],
        [900, -32_602],
        [901, -32_602],
        [903, -32_602],
      ]),
    );
  });
});

describe('a death', () => {
  const DEATHS = ['the agent is killed', 'the client goes away'];

  it.each(DEATHS)('while a tool runs (%s): the session goes on, and the command is not run twice', async (how) => {
    const command = 'echo once >> ran; exec sleep 600';
    await using w = await world([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'I see.']);
    const first = await w.editor({ capabilities: NEOVIM });
    const { sessionId } = await begin(first, w.folder);
    const lost = say(first, sessionId, 'Run it.').catch(() => 'lost');
    await expect.poll(() => w.read('ran').catch(() => ''), PATIENCE).toBe('once\n');
    if (how === 'the agent is killed') first.child.kill('SIGKILL');
    else first.child.stdin.end();
    await first.ended;
    expect(await lost).toBe('lost');

    const second = await w.editor({ capabilities: NEOVIM });
    await second.agent.request(session.load, { sessionId, cwd: w.folder, mcpServers: [] });
    expect(await say(second, sessionId, 'What happened?')).toEqual({ stopReason: 'end_turn' });
    expect(await w.read('ran')).toBe('once\n');
    const log = await w.log(sessionId);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(1);
    expect(w.provider.requests.at(-1)?.rawBody).toContain('What happened?');
    expect(second.asked).toEqual([]);
    expect(problemsOf(second)).toEqual([]);
  });

  it.each(DEATHS)('while it asks (%s): it asks again with the next prompt, and the call runs once', async (how) => {
    const command = 'echo once >> ran';
    await using w = await world([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'It ran.']);
    const first = await w.editor({ capabilities: NEOVIM, permit: () => NEVER });
    const { sessionId } = await begin(first, w.folder);
    const lost = say(first, sessionId, 'Run it.').catch(() => 'lost');
    await expect.poll(() => first.asked.length, PATIENCE).toBe(1);
    if (how === 'the agent is killed') first.child.kill('SIGKILL');
    else first.child.stdin.end();
    await first.ended;
    expect(await lost).toBe('lost');

    const second = await w.editor({ capabilities: NEOVIM });
    await second.agent.request(session.load, { sessionId, cwd: w.folder, mcpServers: [] });
    expect(ofKind(second.updates(sessionId), 'tool_call')).toMatchObject([{ status: 'pending' }]);
    expect(second.asked).toEqual([]);
    expect(await say(second, sessionId, 'Go on.')).toEqual({ stopReason: 'end_turn' });
    expect(second.asked).toMatchObject([{ toolCall: { rawInput: { command } } }]);
    expect(await w.read('ran')).toBe('once\n');
    expect(w.provider.requests.at(-1)?.rawBody).toContain('Go on.');
    expect(problemsOf(second)).toEqual([]);
  });
});

it('drives every method and update of the tables in docs/acp.md', () => {
  const expected = [
    ...Object.keys(FROM_CLIENT).map((method) => `client ${method}`),
    ...Object.keys(FROM_AGENT).map((method) => `agent ${method}`),
    ...Object.keys(UPDATES),
  ].filter((what) => !/elicitation\/complete|compaction_summary_chunk/.test(what));
  expect(expected.filter((what) => !driven.has(what))).toEqual([]);
});
