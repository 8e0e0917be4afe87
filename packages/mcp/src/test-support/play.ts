import { createSession, defineAgent } from '@treadle/core';
import type { DurableEvent, JsonObject, JsonValue, Session, Tool } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

type Ended = Extract<DurableEvent, { type: 'tool_ended' }>;

/** What a call came to, as tests look at it. */
export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
  readonly content: Ended['content'];
  readonly details: JsonValue | undefined;
}

export interface Played {
  readonly session: Session;
  /** In the order in which the calls ended. */
  readonly results: readonly CallResult[];
}

const ALLOW = { settings: [{ source: 'agent' as const, allow: ['mcp__*'] }] };

const shown = ({ content, isError, details }: Ended): CallResult => ({
  text: content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n'),
  isError,
  content,
  details,
});

/** A session whose model makes these calls, each in a turn of its own, and what they came to. */
export async function play(
  tools: readonly Tool[],
  calls: readonly (readonly [name: string, args?: JsonObject])[],
  options: Parameters<typeof createSession>[1] = {},
  watch: Parameters<Session['subscribe']>[0] = () => {},
): Promise<Played> {
  const turns = calls.map(([name, args = {}]) => ({ toolCalls: [{ name, arguments: args }] }));
  const agent = defineAgent({
    model: scriptedModel([...turns, 'Done.']),
    tools,
    permissions: ALLOW,
    loopDetection: false,
    limits: { maxTurns: calls.length + 1, maxToolCalls: calls.length + 1 },
  });
  const session = await createSession(agent, options);
  const results: CallResult[] = [];
  session.subscribe((event) => {
    if (event.type === 'tool_ended') results.push(shown(event));
    watch(event);
  });
  await session.prompt('Go.').result;
  return { session, results };
}

/** One call, and its result. */
export async function callOnce(tools: readonly Tool[], name: string, args: JsonObject = {}): Promise<CallResult> {
  const { results } = await play(tools, [[name, args]]);
  const [result] = results;
  if (!result) throw new Error(`${name} has no result.`);
  return result;
}
