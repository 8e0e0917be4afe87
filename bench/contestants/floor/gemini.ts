import { INSTRUCTIONS } from '../../scenarios.ts';
import type { Contender, Setup } from '../contestant.ts';
import { exchange, serverSentEvents } from './exchange.ts';
import { executor, loopOn } from './loop.ts';

interface Part {
  readonly text?: string;
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args: unknown };
}

interface Chunk {
  readonly candidates?: readonly { readonly content?: { readonly parts?: readonly Part[] } }[];
}

export function define({ baseUrl, scenario: model, tools, onText, onArguments }: Setup): Contender {
  const url = `${baseUrl}/v1beta/models/${model}:streamGenerateContent?alt=sse`;
  const address = { url, headers: { 'x-goog-api-key': 'none' } };
  const execute = executor(tools);
  const functionDeclarations = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));

  async function turn(contents: object[]): Promise<string | null> {
    let text = '';
    const calls: Part[] = [];
    const onData = (data: string): void => {
      for (const part of (JSON.parse(data) as Chunk).candidates?.[0]?.content?.parts ?? []) {
        if (part.functionCall) {
          calls.push(part);
          onArguments(JSON.stringify(part.functionCall.args), part.functionCall.args);
        } else if (part.text) {
          text += part.text;
          onText(part.text);
        }
      }
    };
    const systemInstruction = { parts: [{ text: INSTRUCTIONS }] };
    await exchange(
      address,
      { systemInstruction, contents, tools: [{ functionDeclarations }] },
      serverSentEvents(onData),
    );
    // A part with a call goes back as it came, for it may be signed.
    contents.push({ role: 'model', parts: text === '' ? calls : [{ text }, ...calls] });
    if (calls.length === 0) return text;
    const made = calls.flatMap(({ functionCall }) => functionCall ?? []);
    const results = await execute(made);
    contents.push({
      role: 'user',
      parts: made.map(({ id, name }, index) => ({
        functionResponse: { id, name, response: { output: results[index] } },
      })),
    });
    return null;
  }

  const roles = { user: 'user', assistant: 'model' };
  return loopOn({ first: [], said: (role, text) => ({ role: roles[role], parts: [{ text }] }), turn });
}
