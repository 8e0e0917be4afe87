import { memoryJournal } from '@treadle/core';
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
