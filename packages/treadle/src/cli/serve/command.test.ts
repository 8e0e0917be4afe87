import { scriptedModel } from '@treadle/testing';

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { runCli, startCli } from '../../test-support/harness.ts';
import { startProcess } from '../../test-support/process.ts';

it('treadle serve prints a URL that works, and a token once; a signal ends it in peace', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const running = startProcess(['serve'], { cwd: folder, env: { TREADLE_HOME: join(folder, 'home') } });
  let printed = '';
  running.child.stdout.on('data', (text: string) => (printed += text));
  await running.printed('Token, shown only now: ');
  await running.printed('\n');
  const url = /^(http:\/\/127\.0\.0\.1:\d+)$/m.exec(printed)?.[1] ?? '';
  const token = /Token, shown only now: (\S+)/.exec(printed)?.[1] ?? '';
  const ask = (path: string, method: string, body?: unknown) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'text/event-stream' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
  const { sessionId } = (await (await ask('/v1/sessions', 'POST', {})).json()) as { sessionId: string };
  const run = await ask(`/v1/sessions/${sessionId}/runs`, 'POST', { input: 'What can you do?' });
  expect(await run.text()).toContain('"type":"run_ended"');
  const relayed = await ask('/agent/run?format=xml', 'POST', { user_prompt: 'What can you do?' });
  expect(await relayed.text()).toMatch(/<content-block-text>.*\[DONE\]/s);
  running.child.kill('SIGTERM');
  expect((await running.ended).code).toBe(143);
}, 60_000);

it('treadle serve refuses an address that others can reach without a token of your own', async () => {
  const { code, stderr } = await runCli(['serve', '--host', '0.0.0.0']);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('Give it a token of your own') });
});

it('treadle serve runs what requests name of its models, also side by side', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { HOME: folder, TREADLE_HOME: join(folder, 'home'), TREADLE_TOKEN: 'a-token-of-my-own' };
  const parts = { model: async (name: string) => scriptedModel(() => `I am ${name}.`) };
  const running = startCli(['serve', '--no-mcp', '-m', 'a/one', '-m', 'a/two'], { cwd: folder, env, parts, stdin: '' });
  await running.printed('\n');
  const url = /^http\S+$/m.exec(running.stdout())?.[0] ?? '';
  const headers = {
    authorization: `Bearer ${env.TREADLE_TOKEN}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  const post = async (path: string, body: object) =>
    (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  await post('/v1/sessions', { id: 's' });
  expect(await post('/v1/sessions/s/runs', { input: 'Who?' })).toContain('I am a/one.');
  expect(await post('/v1/sessions/s/runs', { input: 'Who?', model: 'a/two' })).toContain('I am a/two.');
  expect(await post('/v1/sessions/s/runs', { input: 'Who?', model: 'a/three' })).toContain('There are default, a/two.');
  const branches = [{ model: 'a/two' }, { model: 'default' }];
  const told = await post('/v1/sessions/s/branches', { input: 'Who?', branches, strategy: 'first' });
  expect(told).toMatch(/"selectedIndex":0.*I am a\/two\./s);
  running.signal('SIGTERM');
  expect((await running.outcome).code).toBe(143);
});

it('treadle serve lets other hosts and origins in, serves below a path, and takes tools of clients', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { HOME: folder, TREADLE_HOME: join(folder, 'home'), TREADLE_TOKEN: 'a-token-of-my-own' };
  const model = scriptedModel(({ tools }) => (tools.some(({ name }) => name === 'set_colour') ? 'Taken.' : 'None.'));
  const origin = 'http://localhost:3000';
  const flags = ['--origin', origin, '--allowed-host', 'agents.example', '--base-path', '/api', '--offer-tools'];
  flags.push('--max-requests', '1');
  const running = startCli(['serve', '--no-mcp', ...flags], { cwd: folder, env, model, stdin: '' });
  await running.printed('\n');
  const url = /^http\S+$/m.exec(running.stdout())?.[0] ?? '';
  const headers = { authorization: `Bearer ${env.TREADLE_TOKEN}`, 'content-type': 'application/json', origin };
  const colour = { name: 'set_colour', description: 'Colours.', parameters: { type: 'object', properties: {} } };
  const messages = [{ id: 'u1', role: 'user', content: 'Which tools?' }];
  const body = JSON.stringify({ threadId: 't1', runId: 'r1', messages, tools: [colour] });
  const answer = await fetch(`${url}/api/v1/ag-ui`, { method: 'POST', headers, body });
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  expect(await answer.text()).toContain('Taken.');
  const named = httpRequest(`${url}/api/v1/sessions`, { headers: { ...headers, host: 'agents.example' } }).end();
  const [response] = (await once(named, 'response')) as [IncomingMessage];
  expect(response.resume().statusCode).toBe(200);
  const many = await Promise.all(Array.from({ length: 6 }, () => fetch(`${url}/api/v1/sessions`, { headers })));
  expect(many.map(({ status }) => status)).toContain(429);
  running.signal('SIGTERM');
  expect((await running.outcome).code).toBe(143);
}, 60_000);

it('treadle serve --metrics shows what model calls used to whoever has the token', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { HOME: folder, TREADLE_HOME: join(folder, 'home'), TREADLE_TOKEN: 'a-token-of-my-own' };
  const flags = ['serve', '--no-mcp', '--metrics', '--telemetry'];
  const running = startCli(flags, { cwd: folder, env, model: scriptedModel(['Hello.']), stdin: '' });
  await running.printed('\n');
  const url = /^http\S+$/m.exec(running.stdout())?.[0] ?? '';
  const headers = {
    authorization: `Bearer ${env.TREADLE_TOKEN}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await post('/v1/sessions', { id: 's1' });
  await (await post('/v1/sessions/s1/runs', { input: 'Hi.' })).text();
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  const shown = await (await fetch(`${url}/metrics`, { headers })).text();
  expect(shown).toMatch(/^gen_ai_client_token_usage_sum\{.*gen_ai_token_type="output".*\} \d+$/m);
  expect(shown).toMatch(/^gen_ai_client_operation_duration_count/m);
  running.signal('SIGTERM');
  expect((await running.outcome).code).toBe(143);
}, 60_000);

it('treadle serve --log writes what happens as JSON to standard error, with levels and without what was said', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { TREADLE_HOME: join(folder, 'home'), TREADLE_TOKEN: 'a-token-of-my-own' };
  const running = startProcess(['serve', '--log', '--telemetry'], { cwd: folder, env });
  let printed = '';
  running.child.stdout.on('data', (text: string) => (printed += text));
  await running.printed('\n');
  const post = (path: string, body: object) =>
    fetch(`${printed.trim()}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${env.TREADLE_TOKEN}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify(body),
    });
  await post('/v1/sessions', { id: 's1' });
  expect(await (await post('/v1/sessions/s1/runs', { input: 'What is a heron?' })).text()).toContain('run_ended');
  const said = await (await post('/v1/sessions/s1/runs', { input: `What is ${env.TREADLE_TOKEN}?` })).text();
  expect(said).toContain('What is [secret:TREADLE_TOKEN]?');
  expect(said).not.toContain(env.TREADLE_TOKEN);
  running.child.kill('SIGTERM');
  const { stderr } = await running.ended;
  const records = stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: string; event: string; sessionId?: string });
  expect(records).toContainEqual(expect.objectContaining({ level: 'info', event: 'request', route: 'createSession' }));
  expect(records).toContainEqual(
    expect.objectContaining({ level: 'info', event: 'run_ended', sessionId: 's1', status: 'completed' }),
  );
  expect(stderr).not.toMatch(/heron|a-token-of-my-own/);
}, 60_000);

it('treadle serve gives its agent the tools of MCP servers, later ones too, whose questions its clients answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = join(import.meta.dirname, '../../../../mcp/src/test-support/server-process.ts');
  const file = join(folder, 'servers.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { s: { command: process.execPath, args: [server] } } }));
  const token = 'a-token-of-my-own';
  const env = { HOME: folder, TREADLE_HOME: join(folder, 'home'), TREADLE_TOKEN: token };
  const order = [{ toolCalls: [{ name: 'mcp__s__order' }] }, 'Ordered.'];
  const grow = [{ toolCalls: [{ name: 'mcp__s__grow' }] }, 'Grown.'];
  const searches = [{ toolCalls: [{ name: 'search_tools', arguments: { query: 'mcp__s__grown' } }] }, 'Searched.'];
  const model = scriptedModel([...order, ...grow, ...Array.from({ length: 50 }, () => searches).flat()]);
  const running = startCli(['serve', '--mcp-config', file], { cwd: folder, env, model, stdin: '' });
  await running.printed('\n');
  const url = /^http\S+$/m.exec(running.stdout())?.[0] ?? '';
  const post = async (path: string, body: object): Promise<string> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    };
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const approvalIn = (events: string): string => [...events.matchAll(/"approvalId":"(\w+)"/g)].at(-1)?.[1] ?? '';
  await post('/v1/sessions', { id: 's1' });
  const asked = await post('/v1/sessions/s1/runs', { input: 'Order.' });
  const allowed = await post(`/v1/sessions/s1/approvals/${approvalIn(asked)}`, { decision: 'approve' });
  expect(allowed).toContain('The MCP server s asks: What shall it be?');
  const answer = { decision: 'approve', updatedInput: { item: 'tea' } };
  const done = await post(`/v1/sessions/s1/approvals/${approvalIn(allowed)}`, answer);
  expect(done).toContain('"status":"completed"');
  expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', isError: false });
  // A tool that a server adds later is found in the same session.
  const growing = await post('/v1/sessions/s1/runs', { input: 'Grow.' });
  await post(`/v1/sessions/s1/approvals/${approvalIn(growing)}`, { decision: 'approve' });
  const search = (): Promise<string> => post('/v1/sessions/s1/runs', { input: 'What is new?' });
  await expect.poll(search, { timeout: 20_000 }).toContain('{\\"name\\":\\"mcp__s__grown\\"');
  running.signal('SIGTERM');
  expect((await running.outcome).code).toBe(143);
}, 60_000);

it('L42: treadle serve ends a run at the step limit with a summary, also over the relay', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-serve-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { HOME: folder, TREADLE_HOME: join(folder, 'home'), TREADLE_TOKEN: 'a-token-of-my-own' };
  // Each step finds something else: one that found nothing, again and again, would be a loop.
  for (let file = 1; file <= 51; file += 1) writeFileSync(join(folder, `file-${file}.txt`), `${file}`);
  let steps = 0;
  const model = scriptedModel(({ toolChoice }) => {
    steps += 1;
    if (toolChoice === 'none') return 'This is what I found.';
    return { toolCalls: [{ name: 'read_file', arguments: { path: `file-${steps}.txt` } }] };
  });
  const running = startCli(['serve', '--no-mcp'], { cwd: folder, env, model, stdin: '' });
  await running.printed('\n');
  const url = /^http\S+$/m.exec(running.stdout())?.[0] ?? '';
  const headers = { authorization: `Bearer ${env.TREADLE_TOKEN}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ user_prompt: 'Read everything.' });
  const relayed = await fetch(`${url}/agent/run?format=xml`, { method: 'POST', headers, body });
  const text = (await relayed.text()).replaceAll(/(?:\n\n)?data: /g, '');
  expect(text).toMatch(
    /<content-block-text>This is what I found\.<\/content-block-text>.*turn limit reached.*\[DONE\]/s,
  );
  expect(steps).toBe(51);
  running.signal('SIGTERM');
  expect((await running.outcome).code).toBe(143);
}, 60_000);
