// Treadle as its documentation shows it, with its default journal in memory.

import { createSession, defineAgent, defineTool, type Journal, type Session } from '@treadle/core';
import { anthropic } from '@treadle/models/anthropic';
import { openai } from '@treadle/models/openai-chat';
import { INSTRUCTIONS, PROMPT, type Exchange } from '../scenarios.ts';
import type { Contender, Contestant, Setup } from './contestant.ts';

export function defineTreadle(setup: Setup, journal?: Journal): Contender {
  const { baseUrl, scenario, onText, onArguments } = setup;
  const agent = defineAgent({
    model: (setup.wire === 'anthropic' ? anthropic : openai)(scenario, { baseUrl, apiKey: 'none' }),
    instructions: INSTRUCTIONS,
    tools: setup.tools.map(({ name, description, parameters, execute }) =>
      defineTool({ name, description, parameters, execute }),
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
    const { end, finalAnswer, message } = await run.result;
    if (end !== 'completed') throw new Error(`The run ended as ${end}: ${message}`);
    return finalAnswer;
  }

  return {
    async open(history = []) {
      const session = await createSession(agent, journal ? { journal } : {});
      if (history.length > 0) await session.importMessages(messagesOf(history));
      return { run: () => runOn(session) };
    },
  };
}

const messagesOf = (history: readonly Exchange[]): object[] =>
  history.flatMap(({ user, assistant }) => [
    { role: 'user', content: user },
    { role: 'assistant', content: assistant },
  ]);

export const treadle: Contestant = { define: (setup) => defineTreadle(setup) };
