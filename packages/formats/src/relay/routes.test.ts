import { defineTool, memoryBlobs, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { conversationAgent } from '../test-support/conversation.ts';
import { startServer } from '../test-support/server.ts';

describe('a relay of browser tools', () => {
  /** The lines of a relay's stream. */
  const linesOf = async (response: Response): Promise<string[]> => {
    expect(response.status).toBe(200);
    return (await response.text()).split('\n\n').flatMap((part) => (part.startsWith('data: ') ? [part.slice(6)] : []));
  };

  it('lets any process take the results: the server keeps nothing but the log', async () => {
    const journal = memoryJournal();
    const agent = conversationAgent();
    const here = await startServer(agent, { journal, owner: 'here' });
    const there = await startServer(agent, { journal, owner: 'there' });
    const first = await linesOf(await here.call('POST', '/agent/run', { user_prompt: 'An umbrella?' }));
    const envelopes = first.slice(0, -1).map((line) => JSON.parse(line) as Record<string, string>);
    expect(first.at(-1)).toBe('[DONE]');
    const awaiting = envelopes.find(({ type }) => type === 'awaiting_frontend_tools');
    const [tool] = JSON.parse(awaiting?.['delta'] ?? '[]') as { tool_use_id: string; name: string }[];
    const results = {
      agent_uuid: awaiting?.['agent'],
      tool_results: [{ tool_use_id: tool?.tool_use_id, content: '59.9, 10.7' }],
    };
    const second = await linesOf(await there.call('POST', '/agent/tool_results?format=xml', results));
    expect(second.join('')).toContain('<content-block-tool_call id=');
    // Answered once.
    const again = await here.call('POST', '/agent/tool_results', results);
    expect({ status: again.status, body: await again.json() }).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
  });

  it('lists sessions and their runs, and refuses a format that there is none of', async () => {
    const server = await startServer({ id: 'talker', model: scriptedModel(['Hello.']) });
    const [begin] = await linesOf(
      await server.call('POST', '/agent/run', { agent_type: 'talker', user_prompt: 'Hi.' }),
    );
    const { agent: id } = JSON.parse(begin ?? '') as { agent: string };
    expect(await server.json('GET', '/agent/sessions')).toMatchObject({ sessions: [{ agent_uuid: id }] });
    expect(await server.json('GET', `/agent/${id}/conversations`)).toMatchObject({
      conversations: [expect.anything()],
      has_more: false,
    });
    const refused = await server.call('POST', '/agent/run?format=yaml', { user_prompt: 'Hi.' });
    expect(refused.status).toBe(400);
    expect(await server.json('GET', '/agent/sessions')).toMatchObject({ sessions: [{ agent_uuid: id }] });
  });

  it('counts sessions and their runs, and passes over as many as are asked', async () => {
    const server = await startServer({ model: scriptedModel(['One.', 'Two.', 'Three.']) });
    for (const id of ['a', 'b']) await server.call('POST', '/v1/sessions', { id, title: `Session ${id}` });
    for (const id of ['a', 'a', 'b'])
      await linesOf(await server.call('POST', '/agent/run', { agent_uuid: id, user_prompt: 'Hi.' }));
    expect(await server.json('GET', '/agent/sessions')).toMatchObject({
      sessions: [
        { agent_uuid: 'b', title: 'Session b', total_runs: 1 },
        { agent_uuid: 'a', total_runs: 2 },
      ],
      total: 2,
    });
    const second = await server.json<{ sessions: object[] }>('GET', '/agent/sessions?offset=1&limit=1');
    expect(second).toMatchObject({ sessions: [{ agent_uuid: 'a' }], total: 2 });
    expect(await server.json('GET', '/agent/a/conversations')).toMatchObject({ title: 'Session a' });
  });

  it('waits for approvals in a way of their own, and a stream that resumes begins with the history', async () => {
    const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'Bought.' });
    const model = scriptedModel(['Good day.', { toolCalls: [{ name: 'buy' }] }, 'It is yours.']);
    const server = await startServer({ model, tools: [buy] });
    const typed = (lines: readonly string[]) =>
      lines.slice(0, -1).map((line) => JSON.parse(line) as { type: string; delta: string; agent: string });
    const [begin] = typed(await linesOf(await server.call('POST', '/agent/run', { user_prompt: 'Hello.' })));
    const agent = begin?.agent;
    const body = { agent_uuid: agent, user_prompt: 'An umbrella.' };
    const asked = typed(await linesOf(await server.call('POST', '/agent/run?history=true', body)));
    expect(asked.map(({ type }) => type)).not.toContain('awaiting_frontend_tools');
    const [question] = JSON.parse(asked.find(({ type }) => type === 'awaiting_approvals')?.delta ?? '[]') as {
      approval_id: string;
      name: string;
    }[];
    expect(question).toMatchObject({ name: 'buy' });
    const approvals = [{ approval_id: question?.approval_id, decision: 'approve' }];
    const answer = { agent_uuid: agent, approvals };
    const done = typed(await linesOf(await server.call('POST', '/agent/approvals?history=true', answer)));
    const historyOf = (from: typeof done) => {
      const text = from.flatMap(({ type, delta }) => (type === 'meta_init' ? [delta] : [])).join('');
      return (JSON.parse(text) as { message_history: { role: string }[] }).message_history.map(({ role }) => role);
    };
    expect(historyOf(asked)).toEqual(['user', 'assistant']);
    expect(historyOf(done)).toEqual(['user', 'assistant']);
    expect(done.find(({ type }) => type === 'text')?.delta).toContain('It is');
    expect((await server.call('POST', '/agent/approvals', { ...answer, approvals: [{}] })).status).toBe(400);
  });

  it('takes images in a form, shows them again, and keeps uploads', async () => {
    const model = scriptedModel(['A heron.']);
    const server = await startServer({ model }, { blobs: memoryBlobs() });
    const bytes = Buffer.alloc(200_000, 7);
    const form = new FormData();
    form.set('user_prompt', 'Which bird?');
    form.set('image', new File([bytes], 'bird.png', { type: 'image/png' }));
    const authorization = { authorization: `Bearer ${server.bearer}` };
    const post = (path: string, body: FormData | string) =>
      fetch(`${server.url}${path}`, { method: 'POST', headers: authorization, body });
    const lines = await linesOf(await post('/agent/run/multipart', form));
    const { agent } = JSON.parse(lines[0] ?? '') as { agent: string };
    const asked = model.requests[0]?.messages.at(-1)?.content;
    expect(asked).toMatchObject([{ type: 'text' }, { type: 'image', mediaType: 'image/png' }]);
    const uploaded = (await (await post('/agent/upload', form)).json()) as { files: { file_id: string }[] };
    expect(uploaded).toMatchObject({ files: [{ filename: 'bird.png', media_type: 'image/png', size: 200_000 }] });
    const id = uploaded.files[0]?.file_id ?? '';
    const image = await server.call('GET', `/agent/${agent}/images/${id}`);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(Buffer.from(await image.arrayBuffer()).equals(bytes)).toBe(true);
    await server.call('POST', '/v1/sessions', { id: 'other' });
    expect((await server.call('GET', `/agent/other/images/${id}`)).status).toBe(404);
    expect((await post('/agent/run/multipart', 'no form')).status).toBe(400);
  });

  it('shows and takes nothing of a session that the token may not see', async () => {
    const token = 'token-of-ann-0123456789';
    const journal = memoryJournal();
    const owner = await startServer({ model: scriptedModel(['Hello.']) }, { journal });
    await (await owner.call('POST', '/v1/sessions', { id: 'bob-1' })).json();
    const server = await startServer(
      { model: scriptedModel(['Hello.']) },
      { journal, tokens: [{ name: 'ann', token, sessions: ['ann-*'] }] },
    );
    const authorization = { authorization: `Bearer ${token}` };
    const prompt = { agent_uuid: 'bob-1', user_prompt: 'Hi.' };
    expect((await server.call('POST', '/agent/run', prompt, authorization)).status).toBe(404);
    const results = { agent_uuid: 'bob-1', tool_results: [] };
    expect((await server.call('POST', '/agent/tool_results', results, authorization)).status).toBe(404);
    expect((await server.call('GET', '/agent/bob-1/conversations', undefined, authorization)).status).toBe(404);
    const own = await server.call('POST', '/agent/run', { user_prompt: 'Hi.' }, authorization);
    expect(await own.text()).toContain('"agent":"ann-');
    expect(await (await server.call('GET', '/agent/sessions', undefined, authorization)).json()).toMatchObject({
      sessions: [{ agent_uuid: expect.stringMatching(/^ann-/) as string }],
    });
  });

  it('counts a prompt that is repeated under its key once, in one session', async () => {
    const server = await startServer({ model: scriptedModel(['Hello.']) });
    const ask = async () =>
      linesOf(await server.call('POST', '/agent/run', { user_prompt: 'Hi.' }, { 'idempotency-key': 'k1' }));
    expect(await ask()).toEqual(await ask());
    expect(await server.json('GET', '/agent/sessions')).toMatchObject({ sessions: [expect.anything()] });
  });
});
