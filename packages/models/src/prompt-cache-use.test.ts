import { createSession, defineAgent, defineTool, memoryJournal, openSession, type CacheHints } from '@treadle/core';
import { fakeProvider, type Turn } from '@treadle/testing';
import { expect, it } from 'vitest';
import { lookUp, priceOf } from './catalogue/index.ts';
import { resolveModel } from './deployments.ts';
import { bodyText } from './test-support/body.ts';
import { bodyOf, request, user } from './test-support/messages.ts';
import { anthropicMessages } from './protocols/anthropic/protocol.ts';
import { bedrockConverse } from './protocols/bedrock/protocol.ts';
import { firstChange } from './stream/cache-watch.ts';

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'All well.' });

const used = (cacheRead: number, cacheWrite: number) => ({ input: 10, output: 5, cacheRead, cacheWrite });
const CALL = { toolCalls: [{ name: 'look' }] };

async function sessionWith(turns: readonly Turn[]) {
  const provider = await fakeProvider(turns);
  const model = resolveModel('anthropic/claude-sonnet-5-5', {
    apiKey: 'test-key-0123456789',
    baseUrl: provider.anthropicBaseUrl,
    env: {},
  });
  const journal = memoryJournal();
  const agent = (instructions: string) => defineAgent({ model, instructions, tools: [look] });
  const session = await createSession(agent('Be brief.'), { journal, id: 's' });
  return { provider, journal, agent, session };
}

it('the result of a run says what was read from the cache, written to it and missed', async () => {
  const { provider, session } = await sessionWith([
    { ...CALL, usage: used(0, 5000) },
    { ...CALL, usage: used(5000, 100) },
    { text: 'Done.', usage: used(1000, 4200) },
  ]);
  const result = await session.prompt('Look.').result;
  // The last call read 1,000 of 5,100 kept tokens. Its request only went on, so the provider had let go of them.
  expect(result.cache).toEqual({ read: 6000, written: 9300, missed: 4100, changedAt: null });
  expect(result.warnings).toEqual([]);
  await provider.close();
});

it('it names the first byte of the request that changed when a hit was expected', async () => {
  const { provider, journal, agent, session } = await sessionWith([
    { text: 'One.', usage: used(0, 5000) },
    { text: 'Two.', usage: used(0, 5000) },
  ]);
  await session.prompt('Hi.').result;
  await session.close();
  const reopened = await openSession(agent('Be very brief.'), 's', { journal });
  const result = await reopened.prompt('Again.').result;
  const [first, second] = provider.requests.map(({ body }) => JSON.stringify(body));
  const at = firstChange(first ?? '', second ?? '') ?? -1;
  expect(second?.slice(at)).toMatch(/^very brief/);
  expect(result.cache.changedAt).toBe(at);
  expect(result.warnings).toMatchObject([{ code: 'cache_missed', at }]);
  await provider.close();
});

it('a prompt is kept for an hour where that is asked for', () => {
  const input = request([user('Hi')], { system: 'Be brief.', cache: { ttl: '1h' } satisfies CacheHints });
  const text = JSON.stringify(bodyOf(anthropicMessages(), input));
  expect(text.split('"cache_control":{"type":"ephemeral","ttl":"1h"}')).toHaveLength(3);
  const target = { provider: 'bedrock', modelId: 'us.anthropic.claude-sonnet-5-5' };
  const bedrock = bodyText(bedrockConverse().createEncoder(target)(input).body);
  expect(bedrock.split('{"cachePoint":{"type":"default","ttl":"1h"}}')).toHaveLength(3);
});

it('what is kept for an hour has its own price', () => {
  const row = lookUp('anthropic', 'claude-sonnet-5-5');
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 1_000_000, reasoning: null };
  expect(row && priceOf(row, usage)?.total).toBe(2.5);
  expect(row && priceOf(row, { ...usage, cacheWrite1h: 1_000_000 })?.total).toBe(4);
  expect(row && priceOf(row, { ...usage, cacheWrite1h: 400_000 })?.total).toBeCloseTo(1.5 + 1.6);
});
