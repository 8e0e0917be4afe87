// Treadle for the peer kit: see README.md beside this file for where it goes.

import { createSession, defineAgent, defineTool } from '@treadle/core';
import { PROMPT, SYSTEM } from '../../lib/tools.mjs';

export const meta = {
  wire: 'openai-chat',
  // Agents are immutable and shared; every run has a session, and so a log, of its own.
  reusable: true,
  partialArgs: 'parsed partial on every delta',
  config:
    'createSession(agent), for await over session.prompt(), memory journal, node:http; tools in parallel (default)',
};

/** Tools are defined once per program, as a program that has no reason not to would. */
const defined = new WeakMap();

function toolsOf(tools) {
  let known = defined.get(tools);
  if (!known) {
    known = tools.map(({ name, description, schema, execute }) =>
      defineTool({ name, description, inputSchema: schema, execute: (args) => execute(args) }),
    );
    defined.set(tools, known);
  }
  return known;
}

/** Only the wire of the kit's job is loaded, as a program with one model would. */
const [, , job = ''] = process.argv;
const { wire } = job.startsWith('{') ? JSON.parse(job) : {};
const provider =
  wire === 'anthropic'
    ? (await import('@treadle/models/anthropic')).anthropic
    : (await import('@treadle/models/openai-chat')).openai;

export function create({ baseUrl, scenario, tools }) {
  return defineAgent({
    model: provider(scenario, { baseUrl, apiKey: 'none' }),
    instructions: SYSTEM,
    tools: toolsOf(tools),
    limits: { maxTurns: Infinity, maxTotalTokens: Infinity },
  });
}

export async function run(options) {
  const session = await createSession(options.agent ?? create(options));
  const running = session.prompt(PROMPT);
  for await (const event of running) {
    if (event.type !== 'message_delta') continue;
    if (event.kind === 'text') options.onDelta?.(event.text);
    else if (event.kind === 'tool_arguments' && event.text !== '') options.onArgs?.(event.text, event.partial);
  }
  const { status, text, message } = await running.result;
  if (status !== 'completed') throw new Error(`The run ended as ${status}: ${message}`);
  return { text };
}

const agents = new WeakMap();

/** A session with a history, of an agent that all of them share. */
export async function idle({ baseUrl, tools, turns }) {
  let agent = agents.get(tools);
  if (!agent) agents.set(tools, (agent = create({ baseUrl, scenario: 'echo-1', tools })));
  const session = await createSession(agent);
  await session.importMessages(
    turns.flatMap(({ user, assistant }) => [
      { role: 'user', content: user },
      { role: 'assistant', content: assistant },
    ]),
  );
  return session;
}
