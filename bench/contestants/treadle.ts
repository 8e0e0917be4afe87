// Treadle as its documentation shows it, with its default journal in memory.

import { createSession, defineAgent, defineTool, type Journal, type Model, type Session } from '@treadle/core';
import { INSTRUCTIONS, PROMPT } from '../scenarios.ts';
import type { Contender, Contestant, Setup, WireName } from './contestant.ts';

type CreateModel = (name: string, options: { readonly baseUrl: string; readonly apiKey: string }) => Model;

const WIRES: Readonly<Record<WireName, () => Promise<CreateModel>>> = {
  'openai-chat': async () => (await import('@treadle/models/openai-chat')).openai,
  anthropic: async () => (await import('@treadle/models/anthropic')).anthropic,
  'openai-responses': async () => (await import('@treadle/models/openai-responses')).openaiResponsesModel,
  gemini: async () => (await import('@treadle/models/google')).google,
  bedrock: async () => (await import('@treadle/models/bedrock')).bedrock,
  ollama: async () => (await import('@treadle/models/ollama')).ollama,
};

function contender(createModel: CreateModel, setup: Setup, journal: Journal | undefined): Contender {
  const { baseUrl, scenario, onText, onArguments } = setup;
  const agent = defineAgent({
    model: createModel(scenario, { baseUrl, apiKey: 'none' }),
    instructions: INSTRUCTIONS,
    tools: setup.tools.map(({ name, description, parameters, execute }) =>
      defineTool({ name, description, inputSchema: parameters, execute }),
    ),
    limits: { maxTurns: Infinity, maxTotalTokens: Infinity },
  });

  async function runOn(session: Session): Promise<string> {
    const run = session.prompt(PROMPT);
    for await (const event of run) {
      if (event.type !== 'message_delta') continue;
      if (event.kind === 'text') onText(event.text);
      else if (event.kind === 'tool_arguments') onArguments(event.text, event.partial);
    }
    const { status, text, message } = await run.result;
    if (status !== 'completed') throw new Error(`The run ended as ${status}: ${message}`);
    return text;
  }

  return {
    async open() {
      const session = await createSession(agent, journal ? { journal } : {});
      return { run: () => runOn(session) };
    },
  };
}

/** `journalOf` makes the journal of one agent; without it, the default is used. */
export async function treadleOn(wire: WireName, journalOf?: () => Journal): Promise<Contestant> {
  const createModel = await WIRES[wire]();
  return { define: (setup) => contender(createModel, setup, journalOf?.()) };
}
