import { INSTRUCTIONS } from '../../scenarios.ts';
import type { Contender, Setup } from '../contestant.ts';
import { eventStream } from './event-stream.ts';
import { exchange } from './exchange.ts';
import { executor, loopOn } from './loop.ts';

interface Block {
  text?: string;
  toolUse?: { readonly toolUseId: string; readonly name: string; input: unknown };
}

interface StreamEvent {
  readonly contentBlockIndex: number;
  readonly start: { readonly toolUse: { readonly toolUseId: string; readonly name: string } };
  readonly delta: { readonly text?: string; readonly toolUse?: { readonly input: string } };
}

export function define({ baseUrl, scenario, tools, onText, onArguments }: Setup): Contender {
  const headers = { authorization: 'Bearer none' };
  const address = { url: `${baseUrl}/model/${scenario}/converse-stream`, headers };
  const execute = executor(tools);
  const toolConfig = {
    tools: tools.map(({ name, description, parameters }) => ({
      toolSpec: { name, description, inputSchema: { json: parameters } },
    })),
  };

  async function turn(messages: object[]): Promise<string | null> {
    let text = '';
    let json = '';
    const content: Block[] = [];
    const onMessage = (type: string, payload: string): void => {
      const event = JSON.parse(payload) as StreamEvent;
      const { contentBlockIndex: index, delta } = event;
      if (type === 'contentBlockStart') {
        content[index] = { toolUse: { ...event.start.toolUse, input: {} } };
        json = '';
      } else if (type === 'contentBlockDelta' && delta.text !== undefined) {
        content[index] = { text: (content[index]?.text ?? '') + delta.text };
        text += delta.text;
        onText(delta.text);
      } else if (type === 'contentBlockDelta' && delta.toolUse) {
        json += delta.toolUse.input;
        onArguments(delta.toolUse.input, undefined);
      } else if (type === 'contentBlockStop') {
        const call = content[index]?.toolUse;
        if (call) call.input = JSON.parse(json);
      }
    };
    await exchange(address, { system: [{ text: INSTRUCTIONS }], messages, toolConfig }, eventStream(onMessage));
    messages.push({ role: 'assistant', content });
    const calls = content.flatMap(({ toolUse }) => toolUse ?? []);
    if (calls.length === 0) return text;
    const results = await execute(calls.map(({ name, input }) => ({ name, args: input })));
    messages.push({
      role: 'user',
      content: calls.map(({ toolUseId }, index) => ({
        toolResult: { toolUseId, content: [{ text: results[index] }] },
      })),
    });
    return null;
  }

  return loopOn({ first: [], said: (role, text) => ({ role, content: [{ text }] }), turn });
}
