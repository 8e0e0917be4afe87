import { memoryJournal, type TreadleEvent } from '@treadle/core';
import { EventSource } from 'eventsource';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { conversationAgent, playConversation, type Conversation } from '../test-support/conversation.ts';
import { startServer } from '../test-support/server.ts';

/** What a client has of a conversation, in the end. */
interface Came {
  readonly finalText: string;
  readonly calls: readonly (readonly [name: string, args: unknown])[];
  readonly usage: unknown;
}

/** The same, as the library gives it. */
function given({ drives }: Conversation): Came {
  const { text, messages, usage } = drives[2].result;
  const calls = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((block) => (block.type === 'tool_call' ? [[block.name, block.arguments] as const] : []))
      : [],
  );
  return { finalText: text, calls, usage };
}

/** What native events say: the run's own ones, whose sub-agents' are inside others. */
function cameAs(events: readonly TreadleEvent[]): Came {
  const messages = events.flatMap((event) =>
    event.type === 'message_added' && event.message.role === 'assistant' && event.inView ? [event.message] : [],
  );
  const textOf = (message: (typeof messages)[number] | undefined) =>
    message?.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('') ?? '';
  const calls = messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_call' ? [[block.name, block.arguments] as const] : [])),
  );
  const end = events.find((event) => event.type === 'run_ended');
  return { finalText: textOf(messages.at(-1)), calls, usage: end?.usage };
}

describe('the native format', () => {
  async function served() {
    const journal = memoryJournal();
    const conversation = await playConversation(journal);
    const server = await startServer(conversationAgent(), { journal });
    return { conversation, server, path: `/v1/sessions/${conversation.sessionId}/stream` };
  }

  it('gives a `ws` client the text, calls and usage that the library gives', async () => {
    const { conversation, server, path } = await served();
    const protocols = ['treadle.v1', `treadle.token.${Buffer.from(server.bearer).toString('base64url')}`];
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, protocols);
    const events: TreadleEvent[] = [];
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (data: Buffer) => {
        const { event } = JSON.parse(data.toString()) as { event: TreadleEvent };
        events.push(event);
        if (event.type === 'run_ended') resolve();
      });
    });
    socket.close();
    expect(cameAs(events)).toEqual(given(conversation));
  });

  it('gives an EventSource the text, calls and usage that the library gives', async () => {
    const { conversation, server, path } = await served();
    const source = new EventSource(`${server.url}${path}`, {
      fetch: (url, init) =>
        fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${server.bearer}` } }),
    });
    const events: TreadleEvent[] = [];
    await new Promise<void>((resolve) => {
      source.addEventListener('message', ({ data }) => {
        const event = JSON.parse(data as string) as TreadleEvent;
        events.push(event);
        if (event.type === 'run_ended') resolve();
      });
    });
    source.close();
    expect(cameAs(events)).toEqual(given(conversation));
  });

  it('gives whoever was there from the beginning the same, and all that was streamed besides', async () => {
    const conversation = await playConversation();
    const events = conversation.drives.flatMap((drive) => drive.events);
    expect(cameAs(events)).toEqual(given(conversation));
    const kinds = new Set(events.map(({ type }) => type));
    // The ingredients of the conversation: whoever changes it keeps them.
    for (const type of [
      'message_delta',
      'child_event',
      'approval_requested',
      'message_discarded',
      'compacted',
    ] as const)
      expect(kinds).toContain(type);
    const deltas = events.flatMap((event) => (event.type === 'message_delta' ? [event.kind] : []));
    expect(new Set(deltas)).toEqual(new Set(['text', 'thinking', 'tool_arguments']));
    const failed = events.filter((event) => event.type === 'tool_ended' && event.isError);
    expect(failed).toHaveLength(1);
    expect(conversation.drives.map(({ result }) => result.status)).toEqual(['paused', 'paused', 'completed']);
  });
});
