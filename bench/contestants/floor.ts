// The floor: the least a loop on `fetch` can do, as somebody would write it in an afternoon. No errors are handled, nothing
// can be aborted, and nothing is kept but the wire's own messages.

import { INSTRUCTIONS, PROMPT, type Exchange } from '../scenarios.ts';
import type { Contender, Contestant, Conversation, Setup } from './contestant.ts';

interface ChatCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; arguments: string };
}

interface ChatChunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
}

interface Block {
  readonly type: 'text' | 'tool_use';
  text: string;
  readonly id?: string;
  readonly name?: string;
  input?: unknown;
}

interface AnthropicEvent {
  readonly type: string;
  readonly index: number;
  readonly content_block: Block;
  readonly delta: { readonly type?: string; readonly text: string; readonly partial_json: string };
}

/** Sends a request and hands over the data of each event of its reply. */
async function exchange(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
  onData: (data: string) => void,
): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok || !response.body) throw new Error(`The server answered with status ${response.status}.`);
  const stream: ReadableStream<Uint8Array<ArrayBuffer>> = response.body;
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const text = rest + decoder.decode(chunk.value, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      if (text.startsWith('data: ', start)) onData(text.slice(start + 6, end));
      start = end + 1;
    }
    rest = text.slice(start);
  }
}

function chat(setup: Setup): Contender {
  const { scenario: model, tools, onText, onArguments } = setup;
  const url = `${setup.baseUrl}/v1/chat/completions`;
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const definitions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));

  async function turn(messages: object[]): Promise<string | null> {
    let text = '';
    const calls: ChatCall[] = [];
    const body = { model, messages, tools: definitions, stream: true, stream_options: { include_usage: true } };
    await exchange(url, { authorization: 'Bearer none' }, body, (data) => {
      if (data === '[DONE]') return;
      const delta = (JSON.parse(data) as ChatChunk).choices[0]?.delta;
      if (!delta) return;
      if (delta.content) {
        text += delta.content;
        onText(delta.content);
      }
      for (const part of delta.tool_calls ?? []) {
        const { name = '', arguments: piece = '' } = part.function;
        calls[part.index] ??= { id: part.id ?? '', type: 'function', function: { name, arguments: '' } };
        const call = calls[part.index];
        if (!call || piece === '') continue;
        call.function.arguments += piece;
        onArguments(piece, undefined);
      }
    });
    if (calls.length === 0) {
      messages.push({ role: 'assistant', content: text });
      return text;
    }
    messages.push({ role: 'assistant', content: text === '' ? null : text, tool_calls: calls });
    const results = await Promise.all(
      calls.map((call) => byName.get(call.function.name)?.execute(JSON.parse(call.function.arguments))),
    );
    for (const [index, { id }] of calls.entries()) {
      messages.push({ role: 'tool', tool_call_id: id, content: results[index] });
    }
    return null;
  }
  return { open: (history = []) => open([{ role: 'system', content: INSTRUCTIONS }], history, turn) };
}

function anthropic(setup: Setup): Contender {
  const { scenario: model, tools, onText, onArguments } = setup;
  const url = `${setup.baseUrl}/v1/messages`;
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const definitions = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }));
  const headers = { 'x-api-key': 'none', 'anthropic-version': '2023-06-01' };

  async function turn(messages: object[]): Promise<string | null> {
    let text = '';
    let json = '';
    const blocks: Block[] = [];
    const body = { model, max_tokens: 4096, system: INSTRUCTIONS, messages, tools: definitions, stream: true };
    await exchange(url, headers, body, (data) => {
      const event = JSON.parse(data) as AnthropicEvent;
      if (event.type === 'content_block_start') {
        blocks[event.index] = event.content_block;
        json = '';
      } else if (event.type === 'content_block_delta') {
        const block = blocks[event.index];
        if (block && event.delta.type === 'text_delta') {
          block.text += event.delta.text;
          text += event.delta.text;
          onText(event.delta.text);
        } else if (event.delta.partial_json !== '') {
          json += event.delta.partial_json;
          onArguments(event.delta.partial_json, undefined);
        }
      } else if (event.type === 'content_block_stop') {
        const block = blocks[event.index];
        if (block?.type === 'tool_use') block.input = JSON.parse(json);
      }
    });
    messages.push({ role: 'assistant', content: blocks });
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return text;
    const results = await Promise.all(calls.map(({ name = '', input }) => byName.get(name)?.execute(input)));
    messages.push({
      role: 'user',
      content: calls.map(({ id }, index) => ({ type: 'tool_result', tool_use_id: id, content: results[index] })),
    });
    return null;
  }
  return { open: (history = []) => open([], history, turn) };
}

async function open(
  messages: object[],
  history: readonly Exchange[],
  turn: (messages: object[]) => Promise<string | null>,
): Promise<Conversation> {
  for (const { user, assistant } of history) {
    messages.push({ role: 'user', content: user }, { role: 'assistant', content: assistant });
  }
  return {
    async run() {
      messages.push({ role: 'user', content: PROMPT });
      for (;;) {
        const answer = await turn(messages);
        if (answer !== null) return answer;
      }
    },
  };
}

export const floor: Contestant = {
  define: (setup) => (setup.wire === 'anthropic' ? anthropic(setup) : chat(setup)),
};
