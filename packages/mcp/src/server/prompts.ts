import type { ContentBlock, McpServer } from '@modelcontextprotocol/server';

/** What {@link AgentPrompt.text} may make: a text, or content of the protocol, each a message of the user's. */
export type PromptContent = string | readonly ContentBlock[];

/** A prompt that the server offers. */
export interface AgentPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
  /** `{{name}}` stands for an argument; or what makes the prompt of the arguments. */
  readonly text: string | ((values: Readonly<Record<string, string | undefined>>) => PromptContent);
}

type Sdk = typeof import('@modelcontextprotocol/server');

/** Answers for the prompts of a server. */
export function offerPrompts(server: McpServer['server'], prompts: readonly AgentPrompt[], sdk: Sdk): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.map(({ name, description, arguments: all = [] }) => ({
      name,
      description,
      arguments: all.map((argument) => ({ ...argument })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = prompts.find(({ name }) => name === params.name);
    if (!prompt) throw new sdk.ProtocolError(-32602, `There is no prompt ${params.name}.`);
    const values: Readonly<Record<string, string | undefined>> = params.arguments ?? {};
    const missing = prompt.arguments?.find(({ name, required }) => required === true && values[name] === undefined);
    if (missing) throw new sdk.ProtocolError(-32602, `The argument ${missing.name} is missing.`);
    const text =
      typeof prompt.text === 'function'
        ? prompt.text(values)
        : prompt.text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
    const blocks: readonly ContentBlock[] = typeof text === 'string' ? [{ type: 'text', text }] : text;
    const messages = blocks.map((content) => ({ role: 'user' as const, content }));
    return { description: prompt.description, messages };
  });
}
