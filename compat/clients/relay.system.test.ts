import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { Stream } from '@anthropic-ai/sdk/streaming';
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { relayRoutes } from '@treadle/formats';
import { serve } from '@treadle/server';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

const locate = defineTool({
  name: 'locate',
  description: 'Where the page is.',
  runs: 'client',
  inputSchema: { type: 'object', properties: { precise: { type: 'boolean' } } },
});
const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'Seen.' });

/** The messages of a response, each decoded by Anthropic's own client. */
async function decoded(response: Response) {
  const messages: RawMessageStreamEvent[][] = [];
  for await (const event of Stream.fromSSEResponse<RawMessageStreamEvent>(response, new AbortController())) {
    if (event.type === 'message_start') messages.push([]);
    messages.at(-1)?.push(event);
  }
  return Promise.all(
    messages.map((events) => {
      const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
      return MessageStream.fromReadableStream(new Blob([lines]).stream()).finalMessage();
    }),
  );
}

describe('@anthropic-ai/sdk', () => {
  it('raw format of the relay: text, thinking and calls of several messages', async () => {
    const model = scriptedModel([
      { thinking: 'Two things.', text: 'Let me look.', toolCalls: [{ name: 'look' }] },
      { text: 'And now?', toolCalls: [{ name: 'locate', arguments: { precise: true } }] },
    ]);
    const agents = [defineAgent({ model, tools: [locate, look] })];
    const serving = await serve({ agents, journal: memoryJournal(), routes: relayRoutes });
    onTestFinished(async () => {
      await serving.close(0);
    });
    const response = await fetch(`${serving.url}/agent/run?format=raw`, {
      method: 'POST',
      headers: { authorization: `Bearer ${serving.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ user_prompt: 'Where am I?' }),
    });
    const [first, second] = await decoded(response);
    expect(first).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Two things.' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', name: 'look', input: {} },
      ],
    });
    expect(second?.content).toMatchObject([
      { type: 'text', text: 'And now?' },
      { type: 'tool_use', name: 'locate', input: { precise: true } },
    ]);
    expect(second?.usage.output_tokens).toBeGreaterThan(0);
  });
});
