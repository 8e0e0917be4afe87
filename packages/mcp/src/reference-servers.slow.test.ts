// @module-tag slow
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { McpServerConfig } from './client/config.ts';
import type { McpEvent } from './client/connection.ts';
import { mcpServers } from './client/servers.ts';
import { play } from './test-support/play.ts';
import { overHttp, overStdio } from './test-support/reference-servers.ts';

let folder = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'mcp-')));
  await mkdir(join(folder, 'files'));
  await writeFile(join(folder, 'files/a.txt'), 'alpha\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Calls = readonly (readonly [name: string, args?: JsonObject])[];
const callsOf = (server: string, calls: Calls): Calls =>
  calls.map(([name, args]) => [`mcp__${server}__${name}`, args ?? {}]);

const FORM = { name: 'Ada', check: true, email: 'ada@example.com' };

/** Every tool of the everything server, and what it must say. */
const EVERYTHING: readonly (readonly [name: string, args: JsonObject, said: RegExp])[] = [
  ['echo', { message: 'hi' }, /Echo: hi$/],
  ['get-sum', { a: 2, b: 3 }, /is 5/],
  ['get-env', {}, /PATH/],
  ['get-tiny-image', {}, /\[image\]/],
  ['get-annotated-message', { messageType: 'error', includeImage: true }, /\[image\]/],
  ['get-resource-links', { count: 2 }, /\[resource demo:\/\//],
  ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }, /\[resource demo:\/\//],
  ['get-structured-content', { location: 'New York' }, /"temperature":33/],
  ['gzip-file-as-resource', { name: 'a.gz', data: 'data:text/plain,abc', outputType: 'resource' }, /\[file\]/],
  ['toggle-simulated-logging', {}, /logging/i],
  ['toggle-subscriber-updates', {}, /updates/i],
  ['trigger-long-running-operation', { duration: 0.2, steps: 2 }, /completed/],
  ['get-roots-list', {}, /file:\/\//],
  ['trigger-sampling-request', { prompt: 'Say it.', maxTokens: 50 }, /Sampled words/],
  ['list_resources', {}, /demo:\/\/resource\/static/],
  ['read_resource', { uri: 'demo://resource/dynamic/text/1' }, /plaintext resource/],
  ['read_resource', { uri: 'demo://resource/dynamic/blob/1' }, /\[file\]/],
  ['trigger-elicitation-request', {}, /Name: Ada/],
  ['simulate-research-query', { topic: 'looms', ambiguous: true }, /Research Report: looms/],
];

async function checkEverything(config: McpServerConfig): Promise<void> {
  const events: McpEvent[] = [];
  const sampling = { model: scriptedModel(['Sampled words.']) };
  const options = { roots: [folder], sampling, onEvent: (event: McpEvent) => events.push(event) };
  await using servers = await mcpServers({ every: config }, options);
  // Some tools are registered once the server knows what its client can do.
  await expect.poll(() => servers.tools.length, { timeout: 20_000 }).toBeGreaterThan(17);
  const calls = EVERYTHING.map(([name, args]) => [name, args] as const);
  const { session, results } = await play(servers.tools, callsOf('every', calls));
  for (const input of [FORM, { interpretation: 'technical' }]) {
    const [question] = session.pending;
    await session.approve(question?.approvalId ?? '', { updatedInput: input }).result;
  }
  const said = results.map(({ text }) => text);
  for (const [index, [name, , expected]] of EVERYTHING.entries()) expect(`${name}: ${said[index]}`).toMatch(expected);
  expect(results.filter(({ isError }) => isError)).toEqual([]);
  const prompts = await servers.prompts();
  expect(prompts.map(({ name }) => name)).toEqual([
    'simple-prompt',
    'args-prompt',
    'completable-prompt',
    'resource-prompt',
  ]);
  expect(JSON.stringify(await servers.prompt('every', 'args-prompt', { city: 'Oslo' }))).toContain('Oslo');
  expect(events.some(({ type }) => type === 'log')).toBe(true);
}

describe('the everything server', () => {
  it('does all of it over pipes', () => checkEverything(overStdio('everything', 'stdio')), 60_000);

  it('does all of it over Streamable HTTP', async () => {
    await using server = await overHttp('streamableHttp');
    await checkEverything({ type: 'http', url: server.url });
  }, 60_000);

  it('does all of it over SSE, which is found out', async () => {
    await using server = await overHttp('sse');
    await checkEverything({ url: server.url });
  }, 60_000);

  it('that was restarted at its address is connected to again', async () => {
    await using server = await overHttp('streamableHttp');
    await using servers = await mcpServers({ every: { type: 'http', url: server.url } });
    const echo: Calls = [['mcp__every__echo', { message: 'hi' }]];
    await server.kill();
    const { results: dead } = await play(servers.tools, echo);
    expect(dead).toMatchObject([{ isError: true }]);
    await server.start();
    await expect
      .poll(async () => (await play(servers.tools, echo)).results[0]?.text, { timeout: 20_000 })
      .toBe('Echo: hi');
    // Restarted while nobody calls: the session is forgotten, and the call finds that out.
    await server.kill();
    await server.start();
    expect((await play(servers.tools, echo)).results).toMatchObject([{ text: 'Echo: hi' }]);
  }, 60_000);

  it('killed five times in a call has one result for each of 200 calls', async () => {
    const pids = join(folder, 'pids');
    const { command, args = [] } = overStdio('everything', 'stdio');
    // The shell notes its id, and becomes the server.
    const noting = ['-c', `echo $$ >> ${pids}; exec "$0" "$@"`, command, ...args];
    await using servers = await mcpServers({ every: { command: 'sh', args: noting } });
    const calls: Calls = Array.from({ length: 200 }, (_, index) =>
      index % 40 === 20
        ? ['mcp__every__trigger-long-running-operation', { duration: 60, steps: 600 }]
        : ['mcp__every__echo', { message: String(index) }],
    );
    const kill = (): void => {
      const latest = readFileSync(pids, 'utf8').trim().split('\n').at(-1);
      process.kill(Number(latest), 'SIGKILL');
    };
    const killed = new Set<string>();
    const { session, results } = await play(servers.tools, calls, {}, (event) => {
      // Its first sign of life: it is at work on the call.
      if (event.type !== 'tool_progress' || killed.has(event.callId)) return;
      killed.add(event.callId);
      kill();
    });
    expect(killed.size).toBe(5);
    expect(session.messages.filter(({ role }) => role === 'tool')).toHaveLength(200);
    expect(results.map(({ isError, text }, index) => isError || text === `Echo: ${index}`)).not.toContain(false);
    expect(results.flatMap(({ isError }, index) => (isError ? [index] : []))).toEqual([20, 60, 100, 140, 180]);
    // One is only asked which protocol it speaks; one is there at first, and five come after.
    expect(readFileSync(pids, 'utf8').trim().split('\n')).toHaveLength(7);
  }, 60_000);
});

it('the filesystem server works in the roots that it is told', async () => {
  const files = join(folder, 'files');
  await using servers = await mcpServers({ files: overStdio('filesystem') }, { roots: [files] });
  const path = (name: string): string => join(files, name);
  // It asks for the roots once it is connected, and does without them until they come.
  const allowed = async () => (await play(servers.tools, [['mcp__files__list_allowed_directories']])).results[0]?.text;
  await expect.poll(allowed, { timeout: 20_000 }).toContain(files);
  const { results } = await play(
    servers.tools,
    callsOf('files', [
      ['read_text_file', { path: path('a.txt') }],
      ['read_file', { path: path('a.txt') }],
      ['read_multiple_files', { paths: [path('a.txt')] }],
      ['write_file', { path: path('b.txt'), content: 'beta\n' }],
      ['edit_file', { path: path('b.txt'), edits: [{ oldText: 'beta', newText: 'gamma' }] }],
      ['create_directory', { path: path('d') }],
      ['move_file', { source: path('b.txt'), destination: path('d/b.txt') }],
      ['list_directory', { path: files }],
      ['list_directory_with_sizes', { path: files }],
      ['directory_tree', { path: files }],
      ['search_files', { path: files, pattern: '**/*.txt' }],
      ['get_file_info', { path: path('a.txt') }],
      ['read_media_file', { path: path('a.txt') }],
    ]),
  );
  expect(results.filter(({ isError }) => isError)).toEqual([]);
  expect(await readFile(path('d/b.txt'), 'utf8')).toBe('gamma\n');
  const outside = await play(servers.tools, [['mcp__files__read_text_file', { path: '/etc/passwd' }]]);
  expect(outside.results).toMatchObject([{ isError: true }]);
}, 60_000);

it('the memory server keeps a graph', async () => {
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') };
  await using servers = await mcpServers({ memory: { ...overStdio('memory'), env } });
  const entity = { name: 'Ada', entityType: 'person', observations: ['writes'] };
  const link = { from: 'Ada', to: 'Loom', relationType: 'uses' };
  const { results } = await play(
    servers.tools,
    callsOf('memory', [
      ['create_entities', { entities: [entity, { name: 'Loom', entityType: 'thing', observations: [] }] }],
      ['create_relations', { relations: [link] }],
      ['add_observations', { observations: [{ entityName: 'Ada', contents: ['weaves'] }] }],
      ['search_nodes', { query: 'weaves' }],
      ['open_nodes', { names: ['Ada'] }],
      ['delete_observations', { deletions: [{ entityName: 'Ada', observations: ['writes'] }] }],
      ['delete_relations', { relations: [link] }],
      ['delete_entities', { entityNames: ['Loom'] }],
      ['read_graph'],
    ]),
  );
  expect(results.filter(({ isError }) => isError)).toEqual([]);
  expect(results.at(-1)?.details).toMatchObject({
    structuredContent: { entities: [{ name: 'Ada', observations: ['weaves'] }], relations: [] },
  });
}, 60_000);
