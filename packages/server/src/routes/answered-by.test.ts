import { defineTool, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { expect, it } from 'vitest';
import { startServer } from '../test-support/server.ts';

const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'Paid.' });
const agent = { id: 'a', model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Done.']), tools: [pay] };
const tokens = ['ada', 'bob'].map((name) => ({ name, token: `the-token-of-${name}` }));
const as = (name: string) => ({ authorization: `Bearer the-token-of-${name}` });

it('a page that waits at another server hears at once that somebody has answered, and who', async () => {
  const journal = memoryJournal();
  const [here, there] = [await startServer(agent, { journal, tokens }), await startServer(agent, { journal, tokens })];
  const created = await here.call('POST', '/v1/sessions', {}, as('ada'));
  const { sessionId } = (await created.json()) as { sessionId: string };
  const path = `/v1/sessions/${sessionId}`;
  const stream = { ...as('ada'), accept: 'text/event-stream' };
  const asked = await (await here.call('POST', `${path}/runs`, { input: 'Go.' }, stream)).text();
  const approvalId = /"approvalId":"([^"]+)"/.exec(asked)?.[1] ?? '';

  const page = await there.call('GET', `${path}/stream`, undefined, { ...as('bob'), accept: 'text/event-stream' });
  let heard = '';
  const pieces = page.body?.pipeThrough(new TextDecoderStream()).getReader();
  const hears = async (text: string) => {
    while (!heard.includes(text)) heard += (await pieces?.read())?.value ?? '';
  };
  await hears('"type":"run_paused"');
  const answer = { decision: 'approve' };
  expect((await here.call('POST', `${path}/approvals/${approvalId}`, answer, as('ada'))).status).toBe(202);
  await hears('"type":"approval_answered"');
  expect(heard).toMatch(/"type":"approval_answer".*"by":"ada"/);
  expect(heard).toMatch(/"type":"approval_answered".*"by":"ada"/);
  await pieces?.cancel();

  const late = await there.call('POST', `${path}/approvals/${approvalId}`, { decision: 'reject' }, as('bob'));
  expect(late.status).toBe(409);
  expect(await late.json()).toMatchObject({ code: 'conflict', detail: 'This was answered already, by ada.' });
});
