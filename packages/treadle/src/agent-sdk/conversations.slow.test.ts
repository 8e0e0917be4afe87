// @module-tag slow

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { all, last, prompts, recorded, until, world, type Said } from '../test-support/agent-sdk/world.ts';
import type { Json } from '../test-support/agent-sdk/client.ts';

const WRITES = { toolCalls: [{ name: 'bash', arguments: { command: 'echo plum > a.txt' } }] };

describe('a turn', () => {
  it('is asked, answered, and told of by one result', { tags: ['share'] }, async () => {
    const call = { name: 'write_file', arguments: { path: 'a.txt', content: 'plum\n' } };
    await using w = await world([{ text: 'Let me write.', toolCalls: [call] }, 'Done.']);
    const record = recorded(w);
    const asked: Json[] = [];
    const said: Said = {
      canUseTool: async (toolName, input) => {
        asked.push({ toolName, input });
        return { behavior: 'allow', updatedInput: input };
      },
    };
    const running = w.drive('Write a plum.', said, record.testing);
    const messages = await all(running);
    expect(last(messages)).toMatchObject({ type: 'result', subtype: 'success', result: 'Done.', num_turns: 2 });
    expect(asked).toEqual([{ toolName: 'Write', input: { file_path: join(w.folder, 'a.txt'), content: 'plum\n' } }]);
    expect(await readFile(join(w.folder, 'a.txt'), 'utf8')).toBe('plum\n');
    expect(await running.ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(running.strange).toEqual([]);
    expect(w.provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
    await record.matches('permission-allowed');
  });

  it('goes on after a no, which the result lists', async () => {
    await using w = await world([WRITES, 'Then not.']);
    const record = recorded(w);
    const said: Said = { canUseTool: async () => ({ behavior: 'deny', message: 'Not today.' }) };
    const messages = await all(w.drive('Write a plum.', said, record.testing));
    const permission_denials = [{ tool_name: 'Bash', tool_input: { command: 'echo plum > a.txt' } }];
    expect(last(messages)).toMatchObject({ subtype: 'success', permission_denials });
    await record.matches('permission-denied');
  });

  it('puts the questions of the model to the client, which answers them in the input', async () => {
    const questions = [
      {
        question: 'Which fruit?',
        header: 'Fruit',
        options: ['Plum', 'Pear'].map((label) => ({ label, description: `A ${label}.` })),
      },
    ];
    await using w = await world([{ toolCalls: [{ name: 'ask_user', arguments: { questions } }] }, 'A pear.']);
    const record = recorded(w);
    const said: Said = {
      canUseTool: async (_, input) => ({
        behavior: 'allow',
        updatedInput: { ...input, answers: { 'Which fruit?': 'Pear' } },
      }),
    };
    expect(last(await all(w.drive('Choose.', said, record.testing)))).toMatchObject({ result: 'A pear.' });
    expect(w.provider.requests[1]?.rawBody).toContain('Pear');
    await record.matches('questions');
  });

  it('tells of a retry', async () => {
    const busy = {
      faults: { status: 529, headers: { 'retry-after-ms': '10' }, body: { error: { message: 'Busy.' } } },
    };
    await using w = await world([busy, 'Hello.']);
    const record = recorded(w);
    const messages = await all(w.drive('Hi.', {}, record.testing));
    expect(messages.map(({ subtype }) => subtype)).toContain('api_retry');
    await record.matches('retry');
  });

  it('tells of a command in the background, in the turn that it begins when it has ended', async () => {
    const call = { name: 'bash', arguments: { command: 'echo plum', run_in_background: true } };
    await using w = await world([{ toolCalls: [call] }, 'It is running.', 'It has ended.']);
    const asking = prompts();
    const running = w.drive(asking, { allowedTools: ['Bash'] });
    const messages = running[Symbol.asyncIterator]();
    asking.say('Start it.');
    const seen = [...(await until(messages, 'result')), ...(await until(messages, 'result'))];
    const subtypes = seen.map(({ subtype }) => subtype);
    expect(subtypes).toEqual(expect.arrayContaining(['task_started', 'task_updated', 'task_notification']));
    asking.end();
  });

  it('asks nobody where the client has no callback', async () => {
    await using w = await world([WRITES, 'Then not.']);
    const messages = await all(w.drive('Write a plum.'));
    expect(JSON.stringify(messages)).toContain('Nobody can be asked');
  });

  it('reads and edits files by the names of the wire', async () => {
    await using w = await world([
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      { toolCalls: [{ name: 'edit_file', arguments: { path: 'a.txt', old_text: 'plum', new_text: 'pear' } }] },
      'Done.',
    ]);
    await writeFile(join(w.folder, 'a.txt'), 'plum\n');
    const record = recorded(w);
    const running = w.drive(
      'Edit it.',
      { permissionMode: 'acceptEdits', includePartialMessages: true },
      record.testing,
    );
    expect(last(await all(running))).toMatchObject({ subtype: 'success' });
    expect(await readFile(join(w.folder, 'a.txt'), 'utf8')).toBe('pear\n');
    await record.matches('partial-messages');
  });
});

describe('several messages', () => {
  it('are answered one after the other, each by a result', async () => {
    await using w = await world(['One.', 'Two.']);
    const asking = prompts();
    const running = w.drive(asking, {}, { flags: 'apart' });
    asking.say('First.');
    asking.say([{ type: 'text', text: 'Second.' }]);
    const messages = running[Symbol.asyncIterator]();
    expect(last(await until(messages, 'result'))).toMatchObject({ result: 'One.' });
    expect(last(await until(messages, 'result'))).toMatchObject({ result: 'Two.' });
    asking.end();
    expect((await running.ended).code).toBe(0);
  });
});

describe('hooks of the client', () => {
  it('are told of calls in the names of the wire, and change their input', async () => {
    await using w = await world([WRITES, 'Done.']);
    const record = recorded(w);
    const seen: unknown[] = [];
    const running = w.drive(
      'Write a plum.',
      {
        hooks: {
          PreToolUse: [
            {
              matcher: 'Bash|NotebookEdit',
              hooks: [
                async (input) => {
                  seen.push(input['tool_name'], input['tool_input']);
                  return {
                    hookSpecificOutput: {
                      hookEventName: 'PreToolUse',
                      permissionDecision: 'allow',
                      updatedInput: { command: 'echo pear > b.txt' },
                    },
                  };
                },
              ],
            },
          ],
          Stop: [{ hooks: [async () => ({})] }],
        },
        includeHookEvents: true,
      },
      record.testing,
    );
    const messages = await all(running);
    expect(seen).toEqual(['Bash', { command: 'echo plum > a.txt' }]);
    expect(last(messages)).toMatchObject({ subtype: 'success' });
    expect(await readFile(join(w.folder, 'b.txt'), 'utf8')).toBe('pear\n');
    await record.matches('hooks');
  });

  it('that do not answer in their time deny', async () => {
    await using w = await world([WRITES, 'Then not.']);
    const hook = () => new Promise<Json>(() => {});
    const running = w.drive('Write.', { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [hook], timeout: 0.3 }] } });
    expect(last(await all(running))).toMatchObject({ permission_denials: [{ tool_name: 'Bash' }] });
  });
});

describe('a server in the client', () => {
  it('is spoken to over the same lines', async () => {
    await using w = await world([
      { toolCalls: [{ name: 'mcp__clock__now', arguments: { zone: 'UTC' } }] },
      'It is noon.',
    ]);
    const record = recorded(w);
    const answer = async ({ method, id, params }: Json): Promise<Json | null> => {
      if (id === undefined) return null;
      const result =
        method === 'initialize'
          ? {
              protocolVersion: (params as Json)['protocolVersion'],
              capabilities: { tools: {} },
              serverInfo: { name: 'clock', version: '1.0.0' },
            }
          : method === 'tools/list'
            ? { tools: [{ name: 'now', description: 'The time.', inputSchema: { type: 'object' } }] }
            : { content: [{ type: 'text', text: 'noon' }] };
      return { jsonrpc: '2.0', id, result };
    };
    const asking = prompts();
    const running = w.drive(
      asking,
      { mcpServers: { clock: { type: 'sdk', name: 'clock', answer } }, allowedTools: ['mcp__clock__now'] },
      record.testing,
    );
    const messages = running[Symbol.asyncIterator]();
    asking.say('What time is it?');
    expect(last(await until(messages, 'result'))).toMatchObject({ result: 'It is noon.' });
    expect(await running.mcpServerStatus()).toMatchObject({ mcpServers: [{ name: 'clock', status: 'connected' }] });
    asking.end();
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
    await record.matches('server-in-the-client');
  });
});

describe('agents of the client', () => {
  it('work for the model, and their messages name the call that started them', async () => {
    await using w = await world([
      {
        toolCalls: [{ name: 'agent', arguments: { subagent_type: 'reader', prompt: 'Read.', description: 'Reading' } }],
      },
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      'It says plum.',
      'Plum.',
    ]);
    await writeFile(join(w.folder, 'a.txt'), 'plum\n');
    const record = recorded(w);
    const agents = { reader: { description: 'Reads.', prompt: 'You read files.', tools: ['Read'] } };
    const messages = await all(w.drive('Ask the reader.', { agents }, record.testing));
    const inner = messages.filter(({ parent_tool_use_id: parent }) => typeof parent === 'string');
    expect(inner.length).toBeGreaterThan(1);
    expect(messages.map(({ subtype }) => subtype)).toEqual(
      expect.arrayContaining(['task_started', 'task_notification']),
    );
    expect(last(messages)).toMatchObject({
      result: 'Plum.',
      modelUsage: { 'claude-sonnet-5-5': { outputTokens: 20 } },
    });
    await record.matches('agents');
  });
});

describe('a result', () => {
  const call = { toolCalls: [{ name: 'list_files' }] };

  it('says that turns were used up', async () => {
    await using w = await world([call, call]);
    const record = recorded(w);
    const running = w.drive('Go on.', { maxTurns: 2 }, record.testing);
    expect(last(await all(running))).toMatchObject({ subtype: 'error_max_turns', is_error: true, num_turns: 2 });
    expect((await running.ended).code).toBe(1);
    await record.matches('turns-used-up');
  });

  it('says that money was used up', async () => {
    await using w = await world(['Hello.']);
    const record = recorded(w);
    const messages = await all(w.drive('Go on.', { maxBudgetUsd: 0.000_001 }, record.testing));
    expect(last(messages)).toMatchObject({ subtype: 'error_max_budget_usd', is_error: true });
    expect(last(messages)['errors']).toHaveLength(1);
    await record.matches('money-used-up');
  });

  it('says that no value fits the schema', async () => {
    const schema = { type: 'object', properties: { fruit: { type: 'string' } }, required: ['fruit'] };
    await using w = await world(Array.from({ length: 4 }, () => 'No fruit.'));
    const record = recorded(w);
    const outputFormat = { type: 'json_schema', schema } as const;
    const messages = await all(w.drive('Which fruit?', { outputFormat }, record.testing));
    expect(last(messages)).toMatchObject({ subtype: 'error_max_structured_output_retries', is_error: true });
    await record.matches('no-value-fits');
  });

  it('of a model that fails is a success with an error in it', async () => {
    await using w = await world([{ error: { status: 401, message: 'No such key.' } }]);
    const messages = await all(w.drive('Hello.'));
    expect(last(messages)).toMatchObject({ subtype: 'success', is_error: true, api_error_status: 401 });
  });
});

/** What the protocol can ask for, and we don't have. */
const UNSUPPORTED = [
  'background_tasks',
  'file_suggestions',
  'get_hooks_listing',
  'get_settings',
  'get_task_output',
  'get_usage',
  'list_permission_rules',
  'mcp_call',
  'mcp_read_resource',
  'read_file',
  'register_repo_root',
  'reload_output_styles',
  'reload_plugins',
  'reload_skills',
  'seed_read_state',
  'set_color',
  'set_has_subscribers',
  'update_settings',
] as const;

describe('requests of the client', () => {
  it('change the mode and the model, and are refused where there is no such thing', async () => {
    await using w = await world(['One.', 'Two.']);
    const record = recorded(w);
    const asking = prompts();
    const running = w.drive(asking, {}, record.testing);
    const messages = running[Symbol.asyncIterator]();
    await running.initialized;
    asking.say('First.');
    await until(messages, 'result');
    expect(await running.setPermissionMode('plan')).toEqual({ mode: 'plan' });
    expect(await running.setModel('claude-haiku-5-5')).toEqual({});
    expect(await running.setMaxThinkingTokens(2048)).toEqual({});
    expect(await running.request('rename_session', { title: 'Fruit' })).toEqual({});
    expect(await running.request('cancel_async_message', { message_uuid: 'none' })).toEqual({ cancelled: false });
    await expect(running.setPermissionMode('auto')).rejects.toThrow('There is no permission mode "auto"');
    for (const subtype of UNSUPPORTED)
      await expect(running.request(subtype)).rejects.toThrow(`Unsupported control request subtype: ${subtype}`);
    await expect(running.request('stop_task', { task_id: 'none' })).rejects.toThrow();
    asking.say('Second.');
    const second = await until(messages, 'result');
    expect(second[0]).toMatchObject({ subtype: 'init', model: 'claude-haiku-5-5', permissionMode: 'plan' });
    expect(w.provider.requests.at(-1)?.body).toMatchObject({ model: 'claude-haiku-5-5' });
    asking.end();
    await running.ended;
    await record.matches('requests');
  });

  it('interrupt a turn, and the next one goes on', async () => {
    await using w = await world([
      { text: 'A long story', waitAfter: { deltas: 1, until: new Promise(() => {}) } },
      'Two.',
    ]);
    const record = recorded(w);
    const asking = prompts();
    const running = w.drive(asking, { includePartialMessages: true }, record.testing);
    const messages = running[Symbol.asyncIterator]();
    asking.say('First.');
    // The beginning of the message, of its text, and the text.
    for (let count = 0; count < 3; count += 1) await until(messages, 'stream_event');
    expect(await running.interrupt()).toEqual({ still_queued: [] });
    expect(last(await until(messages, 'result'))).toMatchObject({ subtype: 'error_during_execution', is_error: true });
    asking.say('Second.');
    expect(last(await until(messages, 'result'))).toMatchObject({ subtype: 'success', result: 'Two.' });
    asking.end();
    await running.ended;
    await record.matches('interrupt');
  });

  it('take files back to before a message', async () => {
    const edit = (from: string, to: string) => ({
      toolCalls: [{ name: 'edit_file', arguments: { path: 'a.txt', old_text: from, new_text: to } }],
    });
    await using w = await world([
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      edit('plum', 'pear'),
      'Done.',
      edit('pear', 'fig'),
      'Done again.',
    ]);
    await writeFile(join(w.folder, 'a.txt'), 'plum\n');
    const asking = prompts();
    const record = recorded(w);
    const running = w.drive(asking, { permissionMode: 'acceptEdits' }, record.testing);
    const messages = running[Symbol.asyncIterator]();
    const ids = ['0b8d7f1e-0000-4000-8000-000000000001', '0b8d7f1e-0000-4000-8000-000000000002'] as const;
    asking.say('First.', ids[0]);
    await until(messages, 'result');
    asking.say('Second.', ids[1]);
    await until(messages, 'result');
    const file = join(w.folder, 'a.txt');
    expect(await readFile(file, 'utf8')).toBe('fig\n');
    expect(await running.rewindFiles(ids[1], { dryRun: true })).toEqual({ canRewind: true, filesChanged: [file] });
    expect(await running.rewindFiles(ids[1])).toEqual({ canRewind: true, filesChanged: [file] });
    expect(await readFile(file, 'utf8')).toBe('pear\n');
    expect(await running.rewindFiles(ids[0])).toMatchObject({ canRewind: true });
    expect(await readFile(file, 'utf8')).toBe('plum\n');
    expect(await running.rewindFiles('none')).toMatchObject({ canRewind: false });
    asking.end();
    await running.ended;
    await record.matches('rewind');
  });
});

describe('a session', () => {
  it('is gone on with by its id, continued, and forked', async () => {
    await using w = await world(['One.', 'Two.', 'Three.', 'Four.']);
    const sessionId = '0b8d7f1e-0000-4000-8000-00000000000a';
    const first = await all(w.drive('First.', { sessionId }));
    expect(last(first)['session_id']).toBe(sessionId);
    const asked = (count: number) =>
      (JSON.parse(w.provider.requests[count]?.rawBody ?? '{}') as { readonly messages: readonly Json[] }).messages;
    expect(last(await all(w.drive('Second.', { resume: sessionId })))['session_id']).toBe(sessionId);
    expect(asked(1)).toHaveLength(3);
    expect(last(await all(w.drive('Third.', { continue: true }, { flags: 'apart' })))['session_id']).toBe(sessionId);
    expect(asked(2)).toHaveLength(5);
    const replies = first.filter(({ type }) => type === 'assistant');
    const at = { resume: sessionId, resumeSessionAt: String(last(replies)['uuid']), forkSession: true };
    expect(last(await all(w.drive('Fourth.', at)))['session_id']).not.toBe(sessionId);
    expect(asked(3)).toHaveLength(3);
    const rows = (
      await readFile(
        join(w.home, '.claude/projects', w.folder.replaceAll(/[^A-Za-z0-9]/g, '-'), `${sessionId}.jsonl`),
        'utf8',
      )
    )
      .trim()
      .split('\n');
    expect(rows.map((row) => (JSON.parse(row) as Json)['type'])).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
  });

  it('that does not exist ends the process', async () => {
    await using w = await world([]);
    const running = w.drive('Hello.', { resume: 'no-such-session' });
    expect(await all(running)).toEqual([]);
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('no-such-session')]);
  });

  it('is summed up by /compact', async () => {
    await using w = await world(['One.', 'Two.', 'Three.', 'They counted.', 'Four.']);
    const record = recorded(w);
    const asking = prompts();
    const running = w.drive(asking, {}, record.testing);
    const messages = running[Symbol.asyncIterator]();
    const filler = 'Many words about fruit. '.repeat(100);
    for (const text of ['First.', 'Second.', 'Third.']) {
      asking.say(`${text} ${filler}`);
      await until(messages, 'result');
    }
    asking.say('/compact');
    const compacted = await until(messages, 'result');
    expect(compacted.map(({ subtype }) => subtype)).toEqual(['status', 'compact_boundary', 'status', 'success']);
    asking.end();
    await running.ended;
    await record.matches('compaction');
  });
});
