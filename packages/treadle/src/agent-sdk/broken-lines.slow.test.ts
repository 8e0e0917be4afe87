// @module-tag slow

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { userMessage, type Json } from '../test-support/agent-sdk/client.ts';
import { all, prompts, until, world } from '../test-support/agent-sdk/world.ts';

const WRITES = { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'plum' } }] };
const NEVER = new Promise<never>(() => {});

describe('a line', () => {
  it.each([
    ['that is no JSON', 'this is no JSON\n', 'is no JSON'],
    ['that is no object', '[1]\n', 'is no JSON object'],
    ['that is cut off', '{"type":"user","message":', 'is no JSON'],
  ])('%s ends the process, and says which line it was', async (_, text, problem) => {
    await using w = await world([]);
    const running = w.drive(prompts());
    await running.initialized;
    running.write(text);
    running.child.stdin.end();
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
    expect(stderr).toContain('Line 2');
    expect(running.strange).toEqual([]);
  });

  it('that is no JSON ends the turn that is under way', async () => {
    await using w = await world([{ text: 'A long story', waitAfter: { deltas: 1, until: NEVER } }]);
    const asking = prompts();
    const running = w.drive(asking);
    asking.say('Tell.');
    await w.provider.waitForRequest(1);
    running.write('}\n');
    expect((await all(running)).at(-1)).toMatchObject({ type: 'result', subtype: 'error_during_execution' });
    expect(await running.ended).toMatchObject({ code: 1 });
  });

  it('of an unknown type, an empty one, and a request that is none, are passed over', async () => {
    await using w = await world(['Hello.']);
    const asking = prompts();
    const running = w.drive(asking);
    await running.initialized;
    running.write('{"type":"telepathy"}\n\n{"type":"keep_alive"}\n{"type":"control_response","response":{}}\n');
    await expect(running.request('telepathy')).rejects.toThrow('Unsupported control request subtype: telepathy');
    asking.say('Hi.');
    asking.end();
    expect((await all(running)).at(-1)).toMatchObject({ result: 'Hello.' });
    expect((await running.ended).stderr).toContain('A line of the type "telepathy" is passed over');
  });

  it('of a user that has no content is a turn with an error', async () => {
    await using w = await world(['Hello.']);
    const asking = prompts();
    const running = w.drive(asking);
    asking.say([{ type: 'hologram' }]);
    const messages = running[Symbol.asyncIterator]();
    expect((await until(messages, 'result')).at(-1)).toMatchObject({
      is_error: true,
      errors: [expect.stringContaining('hologram')],
    });
    asking.say('Hi.');
    expect((await until(messages, 'result')).at(-1)).toMatchObject({ result: 'Hello.' });
  });

  it('of 10 MB is read, and one of 2 MB is written in less than 1 MiB', async () => {
    const long = 'fruit '.repeat(350_000);
    await using w = await world(['Read.', { toolCalls: [{ name: 'mcp__big__say' }] }, 'Done.']);
    const answer = async ({ method, id, params }: Json): Promise<Json | null> => {
      if (id === undefined) return null;
      const info = { protocolVersion: (params as Json | undefined)?.['protocolVersion'], capabilities: { tools: {} } };
      const result =
        method === 'initialize'
          ? { ...info, serverInfo: { name: 'big', version: '1' } }
          : method === 'tools/list'
            ? { tools: [{ name: 'say', inputSchema: { type: 'object' } }] }
            : { content: [{ type: 'text', text: long }] };
      return { jsonrpc: '2.0', id, result };
    };
    const lengths: number[] = [];
    const asking = prompts();
    const running = w.drive(
      asking,
      { mcpServers: { big: { type: 'sdk', name: 'big', answer } }, allowedTools: ['mcp__big'] },
      { onLine: (direction, line) => direction === 'received' && lengths.push(JSON.stringify(line).length) },
    );
    const messages = running[Symbol.asyncIterator]();
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(10_000_000) } };
    asking.say([{ type: 'text', text: 'Look.' }, image]);
    expect((await until(messages, 'result')).at(-1)).toMatchObject({ result: 'Read.' });
    asking.say('Say it.');
    expect((await until(messages, 'result')).at(-1)).toMatchObject({ result: 'Done.' });
    expect(Math.max(...lengths)).toBeLessThan(1_048_576);
    expect(Math.max(...lengths)).toBeGreaterThan(100_000);
  });
});

describe('a client', () => {
  it('that never answers is waited for, until it interrupts', async () => {
    await using w = await world([WRITES]);
    const asking = prompts();
    const asked = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const running = w.drive(asking, {
      canUseTool: (_, __, { signal }) => {
        signal.addEventListener('abort', () => cancelled.resolve());
        asked.resolve();
        return NEVER;
      },
    });
    asking.say('Write.');
    await asked.promise;
    await running.interrupt();
    await cancelled.promise;
    const messages = running[Symbol.asyncIterator]();
    expect((await until(messages, 'result')).at(-1)).toMatchObject({ subtype: 'error_during_execution' });
  });

  it('that closes standard input while it is asked has said no, and the turn ends', async () => {
    await using w = await world([WRITES, 'Then not.']);
    const asking = prompts();
    const running = w.drive(asking, {
      canUseTool: () => {
        asking.end();
        return NEVER;
      },
    });
    asking.say('Write.');
    const messages = await all(running);
    expect(messages.at(-1)).toMatchObject({ result: 'Then not.', permission_denials: [{ tool_name: 'Write' }] });
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it('that closes standard input early gets its answer all the same', async () => {
    await using w = await world(['Hello.']);
    const running = w.drive(prompts());
    running.write(`${JSON.stringify(userMessage('Hi.'))}\n`);
    running.child.stdin.end();
    expect((await all(running)).at(-1)).toMatchObject({ result: 'Hello.' });
  });

  it('that goes away leaves a process that ends', async () => {
    await using w = await world([{ text: 'A long story', waitAfter: { deltas: 1, until: NEVER } }]);
    const asking = prompts();
    const running = w.drive(asking, { includePartialMessages: true });
    asking.say('Tell.');
    const messages = running[Symbol.asyncIterator]();
    await until(messages, 'stream_event');
    running.child.stdout.destroy();
    // What it writes next finds nobody.
    running.write(`${JSON.stringify({ type: 'control_request', request_id: 'r', request: { subtype: 'x' } })}\n`);
    expect((await running.ended).code).toBe(1);
  });

  it('may begin without initialize', async () => {
    await using w = await world(['Hello.']);
    await writeFile(join(w.folder, 'lines'), '');
    const { spawn } = await import('node:child_process');
    const { executable, environment } = w;
    const child = spawn(process.execPath, [executable, '--model', 'claude-sonnet-5-5'], {
      cwd: w.folder,
      env: environment,
    });
    child.stdin.end(`${JSON.stringify(userMessage('Hi.'))}\n`);
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) text += String(chunk);
    expect(JSON.parse(text.trim().split('\n').at(-1) ?? '')).toMatchObject({ type: 'result', result: 'Hello.' });
  });

  it('gets an answer to what it asks before initialize, and hears that its late hooks do not act', async () => {
    await using w = await world([]);
    const { spawn } = await import('node:child_process');
    const { executable, environment } = w;
    const child = spawn(process.execPath, [executable, '--model', 'claude-sonnet-5-5'], {
      cwd: w.folder,
      env: environment,
    });
    const hooks = { PreToolUse: [{ hookCallbackIds: ['h'] }] };
    const requests = [{ subtype: 'mcp_status' }, { subtype: 'initialize', hooks }];
    for (const [index, request] of requests.entries())
      child.stdin.write(`${JSON.stringify({ type: 'control_request', request_id: `r${index}`, request })}\n`);
    child.stdin.end();
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) text += String(chunk);
    const answers = text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Json)['response'] as Json);
    const late = answers.find(({ request_id: id }) => id === 'r1');
    expect(answers.map(({ subtype }) => subtype)).toEqual(['success', 'success']);
    expect(late?.['response']).not.toHaveProperty('hooks_applied');
  });

  it('is told the version that it asks for', { tags: ['share'] }, async () => {
    await using w = await world([]);
    const { execFileSync } = await import('node:child_process');
    const { executable, environment } = w;
    for (const flag of ['-v', '--version'])
      expect(execFileSync(process.execPath, [executable, flag], { env: environment, encoding: 'utf8' })).toMatch(
        /^2\.\d+\.\d+ /,
      );
  });
});
