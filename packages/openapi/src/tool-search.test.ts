import { createSession, defineAgent, type Tool } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { realTools } from './test-support/real-tools.ts';
import { toolQueries } from './test-support/tool-queries.ts';

const tools = realTools();

/** Tokens of what an agent's first request sends, at four bytes each. */
async function firstRequest(given: readonly Tool[]): Promise<number> {
  const model = scriptedModel(['Hello.']);
  const instructions = 'You help the people of a company with their repositories, phone numbers and notes.';
  const session = await createSession(defineAgent({ model, instructions, tools: [...given] }));
  await session.prompt('Which issues are open?').result;
  const [request] = model.requests;
  return Buffer.byteLength(JSON.stringify([request?.system, request?.tools, request?.messages[0]?.content])) / 4;
}

type Queries = ReturnType<typeof toolQueries>['heldOut'];

/** Those queries for which `search_tools` returns the right tool. It returns five. */
async function answered(queries: Queries): Promise<number> {
  const toolCalls = queries.map(({ query }) => ({ name: 'search_tools', arguments: { query } }));
  const model = scriptedModel([{ toolCalls }, 'Done.']);
  const session = await createSession(defineAgent({ model, tools: [...tools] }));
  const asked = new Map<string, unknown>();
  let found = 0;
  for await (const event of session.prompt('Find the tools.')) {
    if (event.type === 'tool_started') asked.set(event.callId, event.arguments['query']);
    if (event.type !== 'tool_ended' || !isJsonObject(event.details) || !Array.isArray(event.details['tools'])) continue;
    const names = event.details['tools'];
    expect(names.length).toBeLessThanOrEqual(5);
    const wanted = queries.find(({ query }) => query === asked.get(event.callId));
    if (wanted && names.includes(wanted.tool)) found += 1;
  }
  return found;
}

describe('a thousand real tools', () => {
  it('make a first request of at most 1.2 times the tokens of twenty', async () => {
    const twenty = tools.filter((_, index) => index % 50 === 0);
    expect([tools.length, twenty.length]).toEqual([1000, 20]);
    const [all, few] = [await firstRequest(tools), await firstRequest(twenty)];
    expect(all).toBeLessThanOrEqual(1.2 * few);
  });

  it('are found by at least 85 of 100 queries, each among five', async () => {
    const { development, heldOut } = toolQueries();
    const found = [await answered(development), await answered(heldOut)];
    // `docs/tool-search.md` has these figures.
    expect(found).toEqual([47, 43]);
  });
});
