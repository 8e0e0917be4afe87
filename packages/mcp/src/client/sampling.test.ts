import { McpServer } from '@modelcontextprotocol/server';
import { scriptedModel } from '@treadle/testing';
import { expect, it } from 'vitest';

import { play } from '../test-support/play.ts';
import type { SamplingOptions } from './sampling.ts';
import { mcpServers } from './servers.ts';

/** A server that has the client's model say something, and what came of it in these calls. */
async function sampled(sampling: SamplingOptions | undefined, calls = 1): Promise<string[]> {
  const server = new McpServer({ name: 'poet', version: '1.0.0' });
  server.registerTool('rhyme', { description: 'x' }, async () => {
    const content = { type: 'text' as const, text: 'Rhyme on loom.' };
    // oxlint-disable-next-line typescript/no-deprecated -- what servers of the older protocol do
    const reply = await server.server.createMessage({ messages: [{ role: 'user', content }], maxTokens: 9000 });
    return { content: [{ type: 'text', text: JSON.stringify(reply.content) }] };
  });
  await using servers = await mcpServers({ poet: { server } }, sampling ? { sampling } : {});
  const { results } = await play(
    servers.tools,
    Array.from({ length: calls }, () => ['mcp__poet__rhyme'] as const),
  );
  return results.map(({ text, isError }) => `${isError ? 'error: ' : ''}${text}`);
}

it('servers may not call a model unless they are allowed to', async () => {
  expect(await sampled(undefined)).toEqual([expect.stringContaining('error: ')]);
});

it('servers that are allowed to get the words of the model, and no more tokens than set', async () => {
  const model = scriptedModel(['gloom']);
  expect(await sampled({ model, maxTokens: 50 })).toEqual(['{"type":"text","text":"gloom"}']);
  expect(model.requests).toMatchObject([{ maxTokens: 50, tools: [], messages: [{ role: 'user' }] }]);
});

it('servers call a model so often and no more', async () => {
  const model = scriptedModel(Array(5).fill('gloom'));
  const said = await sampled({ model, maxCalls: 2 }, 3);
  expect(said.map((text) => text.startsWith('error: '))).toEqual([false, false, true]);
  expect(said[2]).toContain('used up');
});

it('servers spend no more than they have, and nothing where the price is unknown', async () => {
  const priced = { ...scriptedModel(Array(5).fill('gloom')), cost: () => 0.4 };
  expect((await sampled({ model: priced, maxCost: 1 }, 3)).filter((text) => text.includes('used up'))).toHaveLength(1);
  const unknown = { ...scriptedModel(['gloom']), cost: () => null };
  expect(await sampled({ model: unknown, maxCost: 1 })).toEqual([expect.stringContaining('used up')]);
});
