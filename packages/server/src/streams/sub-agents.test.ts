import { asTool, defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { expect, it } from 'vitest';
import { sse, until, type Told } from '../test-support/events.ts';
import { startServer } from '../test-support/server.ts';
import { steppedModel } from '../test-support/stepped-model.ts';

const isFromBelow = (event: Told, text: string): boolean =>
  event.type === 'child_event' && event.event.type === 'message_delta' && event.event.text.includes(text);

const seqsOf = (events: readonly Told[]): number[] => events.flatMap((event) => ('seq' in event ? [event.seq] : []));

it('a reader that comes back is told no event of a sub-agent twice, and reads what it missed in the sub-agent’s own stream', async () => {
  const below = steppedModel();
  const child = asTool(defineAgent({ id: 'child', model: below }), { description: 'An agent.' });
  const model = scriptedModel([{ toolCalls: [{ name: 'child', arguments: { prompt: 'Go.' } }] }, 'Above.']);
  const server = await startServer({ model, tools: [child] });
  await server.json('POST', '/v1/sessions', { id: 'a' });
  const at = '/v1/sessions/a';
  const begun = await server.call('POST', `${at}/runs`, { input: 'Hi.' }, { accept: 'text/event-stream' });
  await below.asked;
  below.say('One, ');
  const first = await until(sse(begun), (event) => isFromBelow(event, 'One'));

  // Nobody reads; the next one begins behind what the first had.
  below.say('two, ');
  const lastId = first.at(-1)?.id ?? '';
  const again = sse(await server.call('GET', `${at}/stream`, undefined, { 'last-event-id': lastId }));
  const rest = until(again, ({ type }) => type === 'run_ended');
  const started = first.find(({ event }) => event.type === 'tool_started')?.event;
  const childId = started?.type === 'tool_started' ? (started.childSessionId ?? '') : '';
  const own = sse(await server.call('GET', `/v1/sessions/${childId}/stream`));
  const whole = until(own, ({ type }) => type === 'run_ended');
  below.say('three.');
  below.finish();

  const before = first.map(({ event }) => event);
  const after = (await rest).map(({ event }) => event);
  expect(seqsOf([...before, ...after])).toEqual(seqsOf([...before, ...after]).map((_, index) => index + 2));
  const childSeqs = (events: readonly Told[]): number[] =>
    seqsOf(events.flatMap((event) => (event.type === 'child_event' ? [event.event] : [])));
  const told = childSeqs([...before, ...after]);
  expect(new Set(told).size).toBe(told.length);

  // The sub-agent's own stream has all of it: it is a session like any other, whose messages are told when they are whole.
  const events = (await whole).map(({ event }) => event);
  expect(seqsOf(events)).toEqual(seqsOf(events).map((_, index) => index + 1));
  const texts = events.flatMap((event) =>
    event.type === 'message_added' && event.message.role === 'assistant' ? [event.message.content] : [],
  );
  expect(texts).toEqual([[{ type: 'text', text: 'One, two, three.' }]]);
});

it('who may see a session may read the streams of its sub-agents, at any depth, and write into none', async () => {
  const place = defineTool({ name: 'place', description: 'Where.', runs: 'client' });
  const lowest = defineAgent({
    id: 'lowest',
    model: scriptedModel([{ toolCalls: [{ name: 'place' }] }]),
    tools: [place],
  });
  const middle = defineAgent({
    id: 'middle',
    model: scriptedModel([{ toolCalls: [{ name: 'lowest', arguments: { prompt: 'Go.' } }] }]),
    tools: [asTool(lowest, { description: 'An agent.' })],
  });
  const model = scriptedModel(() => ({ toolCalls: [{ name: 'middle', arguments: { prompt: 'Go.' } }] }));
  const top = defineAgent({
    model,
    tools: [asTool(middle, { description: 'An agent.' })],
    subAgents: { maxDepth: 2 },
  });
  const journal = memoryJournal();
  const all = await startServer(top, { journal });
  await all.json('POST', '/v1/sessions', { id: 'ann-1' });
  const run = await all.call('POST', '/v1/sessions/ann-1/runs', { input: 'Hi.' }, { accept: 'text/event-stream' });
  await until(sse(run), ({ type }) => type === 'run_paused');
  const { pending } = await all.json<{ pending: { sessionId: string }[] }>('GET', '/v1/sessions/ann-1');
  const below = `/v1/sessions/${pending[0]?.sessionId}`;

  const tokens = ['ann', 'bob'].map((name) => ({
    name,
    token: `token-of-${name}-0123456789`,
    sessions: [`${name}-*`],
  }));
  const server = await startServer(top, { journal, tokens });
  const as = (name: string) => ({ authorization: `Bearer token-of-${name}-0123456789` });
  expect((await server.call('GET', `${below}/events`, undefined, as('ann'))).status).toBe(200);
  expect((await server.call('GET', `${below}/events`, undefined, as('bob'))).status).toBe(404);
  expect((await server.call('POST', `${below}/cancel`, {}, as('ann'))).status).toBe(404);
  expect((await server.call('GET', '/v1/sessions/nobody-1/events', undefined, as('ann'))).status).toBe(404);
});
