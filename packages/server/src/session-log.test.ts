import { defineAgent, defineTool, memoryJournal, type Session } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { expect, it } from 'vitest';
import { createServer, inProcess, type LogRecord } from './index.ts';
import { sessionLogEntry } from './session-log.ts';
import { isRunEnd, sse, until } from './test-support/events.ts';
import { startServer, type TestServer } from './test-support/server.ts';

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'The safe is open.' });
const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  execute: () => {
    throw new Error('The safe is shut.');
  },
});

async function run(server: TestServer): Promise<void> {
  await server.call('POST', '/v1/sessions', { id: 's1' });
  const headers = { accept: 'text/event-stream' };
  const response = await server.call('POST', '/v1/sessions/s1/runs', { input: 'Where is the safe?' }, headers);
  await until(sse(response), isRunEnd);
}

it('says what runs came to, with levels, and no word of what was asked, answered, called with or returned', async () => {
  const records: LogRecord[] = [];
  const model = scriptedModel([
    { text: 'Behind the safe.', toolCalls: [{ name: 'look', arguments: { safe: 1 } }] },
    { toolCalls: [{ name: 'fail' }] },
    { error: { kind: 'auth', message: 'The key to the safe is wrong.' } },
  ]);
  const server = await startServer(
    { id: 'agent', model, tools: [look, fail] },
    { log: (record) => records.push(record) },
  );
  await run(server);
  const ofSession = records.filter(({ sessionId }) => sessionId === 's1');
  expect(ofSession.map(({ level, event }) => `${level} ${event}`)).toEqual([
    'info drive_started',
    'info run_started',
    'info tool_ended',
    'warning tool_ended',
    'warning attempt_failed',
    'error run_ended',
  ]);
  expect(ofSession.at(-1)).toMatchObject({ status: 'model_error', errorKind: 'auth', turns: 3 });
  expect(ofSession[2]).toMatchObject({ tool: 'look', isError: false });
  expect(JSON.stringify(records)).not.toContain('safe');
});

it('is of each event what any reader of the log makes of it', async () => {
  const records: LogRecord[] = [];
  const server = await startServer({ model: scriptedModel(['Hello.']) }, { log: (record) => records.push(record) });
  await run(server);
  const entries: object[] = [];
  for await (const event of server.journal.read('s1', 1)) {
    const entry = sessionLogEntry(event);
    if (entry) entries.push({ level: entry.level, event: entry.event, sessionId: 's1', ...entry.fields });
  }
  const logged = records.filter(({ sessionId }) => sessionId === 's1').map(({ at: _, ...record }) => record);
  expect(logged.slice(0, entries.length)).toEqual(entries);
  expect(entries.length).toBeGreaterThan(2);
});

it('is followed by whoever wants to watch the sessions that are driven here, until they are closed', async () => {
  const seen: string[] = [];
  const onSession = (session: Session): (() => void) => {
    seen.push(`begin ${session.id}`);
    const stop = session.subscribe(({ type }) => seen.push(type));
    return () => {
      stop();
      seen.push(`end ${session.id}`);
    };
  };
  const server = await startServer({ model: scriptedModel(['Hello.']) }, { onSession });
  await run(server);
  await server.close();
  expect(seen[0]).toBe('begin s1');
  expect(seen).toContain('run_ended');
  expect(seen.filter((each) => each === 'end s1')).toHaveLength(1);
  expect(seen.at(-1)).toBe('end s1');
});

it('does not stop a run when whoever watches it fails', async () => {
  const records: LogRecord[] = [];
  const onSession = (): (() => void) => {
    throw new Error('No tracer here.');
  };
  const log = (record: LogRecord) => records.push(record);
  const server = await startServer({ model: scriptedModel(['Hello.']) }, { onSession, log });
  await run(server);
  expect(records).toContainEqual(expect.objectContaining({ event: 'drive_failed', error: 'No tracer here.' }));
});

it('is refused beside a dispatch of your own, which opens its sessions itself', async () => {
  const agent = defineAgent({ model: scriptedModel([]) });
  const journal = memoryJournal();
  const dispatch = inProcess({ journal, agentOf: () => agent });
  const options = { agents: [agent], journal, dispatch, tokens: [{ name: 'me', token: 'a-token-of-my-own' }] };
  expect(() => createServer({ ...options, onSession: () => () => {} })).toThrow('your own dispatch');
});
