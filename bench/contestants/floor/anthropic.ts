import { INSTRUCTIONS } from '../../scenarios.ts';
import type { Contender, Setup } from '../contestant.ts';
import { exchange, serverSentEvents } from './exchange.ts';
import { executor, loopOn } from './loop.ts';

interface Block {
  readonly type: 'text' | 'tool_use';
  text: string;
  readonly id?: string;
  readonly name?: string;
  input?: unknown;
}

interface StreamEvent {
  readonly type: string;
  readonly index: number;
  readonly content_block: Block;
  readonly delta: { readonly type?: string; readonly text: string; readonly partial_json: string };
}

export function define({ baseUrl, scenario: model, tools, onText, onArguments }: Setup): Contender {
  const headers = { 'x-api-key': 'none', 'anthropic-version': '2023-06-01' };
  const address = { url: `${baseUrl}/v1/messages`, headers };
  const execute = executor(tools);
  const definitions = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }));

  async function turn(messages: object[]): Promise<string | null> {
    let text = '';
    let json = '';
    const blocks: Block[] = [];
    const onData = (data: string): void => {
      const event = JSON.parse(data) as StreamEvent;
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
    };
    const body = { model, max_tokens: 4096, system: INSTRUCTIONS, messages, tools: definitions, stream: true };
    await exchange(address, body, serverSentEvents(onData));
    messages.push({ role: 'assistant', content: blocks });
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return text;
    const results = await execute(calls.map(({ name = '', input }) => ({ name, args: input })));
    messages.push({
      role: 'user',
      content: calls.map(({ id }, index) => ({ type: 'tool_result', tool_use_id: id, content: results[index] })),
    });
    return null;
  }

  return loopOn({ first: [], said: (role, content) => ({ role, content }), turn });
}
