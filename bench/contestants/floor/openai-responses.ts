import { INSTRUCTIONS } from '../../scenarios.ts';
import type { Contender, Setup } from '../contestant.ts';
import { exchange, serverSentEvents } from './exchange.ts';
import { executor, loopOn } from './loop.ts';

interface Item {
  readonly type: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

interface StreamEvent {
  readonly type: string;
  readonly delta: string;
  readonly item: Item;
}

export function define({ baseUrl, scenario: model, tools, onText, onArguments }: Setup): Contender {
  const address = { url: `${baseUrl}/v1/responses`, headers: { authorization: 'Bearer none' } };
  const execute = executor(tools);
  const definitions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters,
    strict: false,
  }));

  async function turn(messages: object[]): Promise<string | null> {
    let text = '';
    const items: Item[] = [];
    const onData = (data: string): void => {
      const event = JSON.parse(data) as StreamEvent;
      if (event.type === 'response.output_text.delta') {
        text += event.delta;
        onText(event.delta);
      } else if (event.type === 'response.function_call_arguments.delta') onArguments(event.delta, undefined);
      else if (event.type === 'response.output_item.done') items.push(event.item);
    };
    const body = { model, instructions: INSTRUCTIONS, input: messages, tools: definitions, store: false, stream: true };
    await exchange(address, body, serverSentEvents(onData));
    messages.push(...items);
    const calls = items.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) return text;
    const results = await execute(
      calls.map((call) => ({ name: call.name, args: JSON.parse(call.arguments) as unknown })),
    );
    for (const [index, { call_id }] of calls.entries()) {
      messages.push({ type: 'function_call_output', call_id, output: results[index] });
    }
    return null;
  }

  return loopOn({ first: [], said: (role, content) => ({ role, content }), turn });
}
