import { createSession, defineAgent, defineTool, memoryJournal, openSession } from '@treadle/core';
import type { AgentDefinition, DurableEvent, JsonValue } from '@treadle/core';
import { journalOf, logOf } from '@treadle/testing';
import { expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import { beginStream, received, serve } from '../test-support/servers.ts';

// What OpenRouter streams as `reasoning_details`, in pieces, must come back to it as it was.

/** Of all the characters that base64 and JSON have an opinion on. */
const SIGNATURE = 'Eq+/0aZ==.-_"\\ü🧶';

/** One answer's details, whole: as they must go back. */
const DETAILS = [
  {
    type: 'reasoning.text',
    text: 'First “this”,\n then that.',
    format: 'anthropic-claude-v1',
    index: 0,
    signature: SIGNATURE,
  },
  { type: 'reasoning.encrypted', data: 'gAAA+/=\\u00e9', id: 'rs_1', format: 'openai-responses-v1', index: 1 },
  {
    type: 'reasoning.summary',
    summary: 'In short.',
    id: null,
    format: 'unknown',
    index: 2,
    brand_new: { kept: [1, null] },
  },
];

/** The same in the pieces that a stream has. */
const PIECES: readonly object[][] = [
  [{ type: 'reasoning.text', text: 'First “this”,', format: 'anthropic-claude-v1', index: 0 }],
  [{ type: 'reasoning.text', text: '\n then that.', format: 'anthropic-claude-v1', index: 0 }],
  [{ type: 'reasoning.text', signature: SIGNATURE, format: 'anthropic-claude-v1', index: 0 }],
  [DETAILS[1] ?? {}],
  [DETAILS[2] ?? {}],
];

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'gen-1', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const CALLING = [
  ...PIECES.map((details) => chunk({ role: 'assistant', content: '', reasoning: 'Hm.', reasoning_details: details })),
  chunk({
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'act', arguments: '{"n":1}' } }],
  }),
  chunk({}, 'tool_calls'),
  'data: [DONE]\n\n',
].join('');
const answer = (text: string): string => `${chunk({ content: text })}${chunk({}, 'stop')}data: [DONE]\n\n`;

interface Body {
  readonly messages: readonly { readonly role: string; readonly reasoning_details?: JsonValue }[];
}

it.each([1, 7, 100_000])('P36: reasoning_details come back byte for byte, cut into %i bytes', async (size) => {
  const bodies: string[] = [];
  const answers = [CALLING, answer('Done.'), answer('Again.'), answer('Opened.'), answer('Elsewhere.')];
  await using server = await serve((request, response) => {
    void received(request).then((body) => {
      const bytes = Buffer.from(answers[bodies.push(body) - 1] ?? '');
      beginStream(response);
      for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size));
      response.end();
    });
  });
  const agentOf = (name: string): AgentDefinition => ({
    model: resolveModel(`${name}/m`, { apiKey: 'k', baseUrl: `${server.url}/v1`, env: {} }),
    tools: [defineTool({ name: 'act', description: 'Acts.', execute: () => 'did' })],
  });
  const journal = memoryJournal();
  const session = await createSession(defineAgent(agentOf('openrouter')), { journal, id: 's1' });
  expect((await session.prompt('Go.').result).text).toBe('Done.');
  expect((await session.prompt('And?').result).text).toBe('Again.');
  // Another process has nothing but the log, as text.
  const kept = await journalOf(JSON.parse(JSON.stringify(await logOf(journal, 's1'))) as DurableEvent[]);
  const opened = await openSession(defineAgent(agentOf('openrouter')), 's1', { journal: kept });
  expect((await opened.prompt('Still there?').result).text).toBe('Opened.');

  expect(bodies).toHaveLength(4);
  const written = JSON.stringify(DETAILS);
  for (const body of bodies.slice(1)) {
    expect(body).toContain(`"reasoning_details":${written}`);
    const { messages } = JSON.parse(body) as Body;
    expect(messages.find(({ role }) => role === 'assistant')?.reasoning_details).toEqual(DETAILS);
  }

  // A server that didn't make them is told nothing of them.
  const elsewhere = await openSession(defineAgent(agentOf('together')), 's1', { journal: kept });
  expect((await elsewhere.prompt('Who are you?').result).text).toBe('Elsewhere.');
  expect(bodies[4]).not.toContain('reasoning_details');
  expect(bodies[4]).not.toContain('gAAA');
});
