import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { isDurable, type DurableEvent, type JsonObject, type Usage } from '@treadle/core';
import { encodeAll, type StreamFormat } from '@treadle/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { generateCodeFormat, relayJsonFormat, relayRawFormat, relayXmlFormat } from './index.ts';
import { playConversation, type Conversation } from './test-support/conversation.ts';

/** What a client has of a conversation, in the end. */
interface Came {
  readonly finalText: string;
  readonly calls: readonly (readonly [name: string, args: unknown])[];
  readonly usage: unknown;
}

/** The same, as the library gives it. */
function given({ drives }: Conversation): Came {
  const { text: finalAnswer, messages, usage } = drives[2].result;
  const calls = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((block) => (block.type === 'tool_call' ? [[block.name, block.arguments] as const] : []))
      : [],
  );
  return { finalText: finalAnswer, calls, usage };
}

it('/generate-code gives a `ws` client the text and the calls that the library gives; usage it has none', async () => {
  const conversation = await playConversation();
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const { sessionId, runId, drives } = conversation;
    for (const { events } of drives) {
      const start = { sessionId, runId, resumed: false };
      const frames = encodeAll(generateCodeFormat({ variantIndex: 0 }), start, events, { reason: 'finished' });
      for (const { data } of frames) socket.send(data);
    }
    socket.close();
  });
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const messages: { type: string; value?: string; eventId?: string; data?: { name: string; input: unknown } }[] = [];
  client.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as (typeof messages)[number]));
  await once(client, 'close');
  const texts = new Map<string, string>();
  for (const { type, value = '', eventId = '' } of messages)
    if (type === 'assistant') texts.set(eventId, (texts.get(eventId) ?? '') + value);
  const { finalText, calls } = given(conversation);
  expect([...texts.values()].at(-1)).toBe(finalText);
  const started = messages.flatMap(({ type, eventId, data }) =>
    type === 'toolStart' && data ? [[eventId, data.name, data.input] as const] : [],
  );
  // A call that was shown before its connection broke is shown again, without its arguments, before its result.
  const first = started.filter(([id], at) => started.findIndex(([other]) => other === id) === at);
  expect(first.map(([, name, input]) => [name, input])).toEqual(calls);
});

describe('a relay', () => {
  async function lines(formatOf: (past: readonly DurableEvent[]) => StreamFormat) {
    const conversation = await playConversation();
    const { sessionId, runId, drives } = conversation;
    const all = drives.flatMap(({ events }, at) => {
      const past = drives.slice(0, at).flatMap((drive) => drive.events.filter(isDurable));
      const start = { sessionId, runId, resumed: false };
      return encodeAll(formatOf(past), start, events, { reason: 'finished' }).map(({ data }) => data);
    });
    return { conversation, lines: all.filter((line) => line !== '[DONE]') };
  }
  const usageIn = (final: string): Usage => (JSON.parse(final) as { cumulative_usage: Usage }).cumulative_usage;

  it('in envelopes says the text, calls and usage that the library gives', async () => {
    const { conversation, lines: all } = await lines((past) => relayJsonFormat({ history: true, past }));
    const own = all
      .map((line) => JSON.parse(line) as Record<'type' | 'agent' | 'delta' | 'name', string> & { final: boolean })
      .filter(({ agent }) => agent === conversation.sessionId);
    const texts = [''];
    for (const { type, delta, final } of own) {
      if (type !== 'text') continue;
      texts.push((texts.pop() ?? '') + delta);
      if (final) texts.push('');
    }
    const { finalText, calls, usage } = given(conversation);
    expect(texts.at(-2)).toBe(finalText);
    const told = own.filter(({ type }) => type === 'tool_call');
    expect(told.map(({ name, delta }) => [name, JSON.parse(delta) as unknown])).toEqual(calls);
    const final = own.flatMap(({ type, delta }) => (type === 'meta_final' ? [delta] : [])).join('');
    expect(usageIn(final)).toEqual(usage);
  });

  it('in tags says the text, calls and usage that the library gives', async () => {
    const { conversation, lines: all } = await lines((past) => relayXmlFormat({ history: true, past }));
    const text = all.join('');
    const unescaped = (escaped = ''): string =>
      escaped
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&')
        .replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
    const texts = [...text.matchAll(/<content-block-text>(.*?)<\/content-block-text>/gs)].map(([, body]) => body);
    const { finalText, calls, usage } = given(conversation);
    expect(unescaped(texts.at(-1))).toBe(finalText);
    const told = [...text.matchAll(/<content-block-tool_call id="[^"]*" name="([^"]*)" arguments="([^"]*)">/g)];
    expect(told.map(([, name, args]) => [name, JSON.parse(unescaped(args)) as unknown])).toEqual(calls);
    const [, final = ''] = /<meta_final data="([^"]*)">/.exec(text) ?? [];
    expect(usageIn(unescaped(final))).toEqual(usage);
  });

  it('in the events of a provider says the text, calls and usage that the library gives', async () => {
    const { conversation, lines: all } = await lines((past) => relayRawFormat({ history: true, past }));
    interface Raw {
      readonly type: string;
      readonly parent_agent?: string;
      readonly delta?: { readonly text?: string; readonly partial_json?: string };
      readonly content_block?: { readonly type: string; readonly name: string };
      readonly cumulative_usage?: Usage;
    }
    const own = all.map((line) => JSON.parse(line) as Raw).filter((event) => event.parent_agent === undefined);
    const texts: string[] = [];
    for (const { type, delta } of own) {
      if (type === 'message_start') texts.push('');
      else if (delta?.text !== undefined) texts.push((texts.pop() ?? '') + delta.text);
    }
    const { finalText, calls, usage } = given(conversation);
    expect(texts.at(-1)).toBe(finalText);
    const names = own.flatMap(({ content_block: block }) => (block?.type === 'tool_use' ? [block.name] : []));
    const inputs = own.flatMap(({ delta }) =>
      delta?.partial_json === undefined ? [] : [JSON.parse(delta.partial_json) as JsonObject],
    );
    expect(names.map((name, at) => [name, inputs[at]])).toEqual(calls);
    expect(own.at(-1)?.cumulative_usage).toEqual(usage);
  });
});
