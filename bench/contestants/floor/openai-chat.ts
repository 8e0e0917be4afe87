import { INSTRUCTIONS } from '../../scenarios.ts';
import type { Contender, Setup } from '../contestant.ts';
import { exchange, serverSentEvents } from './exchange.ts';
import { executor, loopOn } from './loop.ts';

interface Call {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; arguments: string };
}

interface Chunk {
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

export function define({ baseUrl, scenario: model, tools, onText, onArguments }: Setup): Contender {
  const address = { url: `${baseUrl}/v1/chat/completions`, headers: { authorization: 'Bearer none' } };
  const execute = executor(tools);
  const definitions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));

  async function turn(messages: object[]): Promise<string | null> {
    let text = '';
    const calls: Call[] = [];
    const onData = (data: string): void => {
      if (data === '[DONE]') return;
      const delta = (JSON.parse(data) as Chunk).choices[0]?.delta;
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
    };
    const body = { model, messages, tools: definitions, stream: true, stream_options: { include_usage: true } };
    await exchange(address, body, serverSentEvents(onData));
    if (calls.length === 0) {
      messages.push({ role: 'assistant', content: text });
      return text;
    }
    messages.push({ role: 'assistant', content: text === '' ? null : text, tool_calls: calls });
    const results = await execute(
      calls.map((call) => ({ name: call.function.name, args: JSON.parse(call.function.arguments) as unknown })),
    );
    for (const [index, { id }] of calls.entries()) {
      messages.push({ role: 'tool', tool_call_id: id, content: results[index] });
    }
    return null;
  }

  return loopOn({
    first: [{ role: 'system', content: INSTRUCTIONS }],
    said: (role, content) => ({ role, content }),
    turn,
  });
}
