import { INSTRUCTIONS } from '../../scenarios.ts';
import type { Contender, Setup } from '../contestant.ts';
import { exchange, lines } from './exchange.ts';
import { executor, loopOn } from './loop.ts';

interface Call {
  readonly function: { readonly name: string; readonly arguments: unknown };
}

interface Line {
  readonly message?: { readonly content?: string; readonly tool_calls?: readonly Call[] };
}

export function define({ baseUrl, scenario: model, tools, onText, onArguments }: Setup): Contender {
  const address = { url: `${baseUrl}/api/chat`, headers: {} };
  const execute = executor(tools);
  const definitions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));

  async function turn(messages: object[]): Promise<string | null> {
    let content = '';
    const calls: Call[] = [];
    const onLine = (line: string): void => {
      const { message } = JSON.parse(line) as Line;
      if (message?.content) {
        content += message.content;
        onText(message.content);
      }
      for (const call of message?.tool_calls ?? []) {
        calls.push(call);
        onArguments(JSON.stringify(call.function.arguments), call.function.arguments);
      }
    };
    await exchange(address, { model, messages, tools: definitions, stream: true }, lines('', onLine));
    if (calls.length === 0) {
      messages.push({ role: 'assistant', content });
      return content;
    }
    messages.push({ role: 'assistant', content, tool_calls: calls });
    const results = await execute(calls.map((call) => ({ name: call.function.name, args: call.function.arguments })));
    for (const [index, call] of calls.entries()) {
      messages.push({ role: 'tool', tool_name: call.function.name, content: results[index] });
    }
    return null;
  }

  return loopOn({
    first: [{ role: 'system', content: INSTRUCTIONS }],
    said: (role, content) => ({ role, content }),
    turn,
  });
}
