import { parseJson } from '@treadle/core/json';
import { base64Of } from '@treadle/core/messages';
import { NO_USAGE } from '@treadle/core/model';
import { readBlob } from '@treadle/core/ports';
import { TreadleError } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import type { Agent, Blobs, JsonObject, Model, RunResult, Session, Tool, ToolResultContent } from '@treadle/core';

/** Its prompt names one call. It makes that call and says no more. So the call is a run, with all that guards a run. */
const CALLER: Model = {
  provider: 'mcp',
  id: 'client',
  cost: () => 0,
  async *stream({ messages }): AsyncGenerator<ModelEvent> {
    // Hooks add messages of their own before and after the call.
    const prompt = messages.findLast((message) => message.role === 'user' && message.origin === 'prompt');
    yield { type: 'start' };
    if (prompt?.role === 'user' && !messages.some(({ role }) => role === 'tool')) {
      const text = prompt.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      const { name, arguments: args } = parseJson(text) as { readonly name: string; readonly arguments: JsonObject };
      const call = { type: 'tool_call', providerCallId: 'call', name, argumentsText: JSON.stringify(args) } as const;
      yield { type: 'tool_call_start', index: 0, providerCallId: 'call', name };
      yield { type: 'block_end', index: 0, block: call };
      yield { type: 'finish', stopReason: 'tool_use', usage: NO_USAGE };
      return;
    }
    yield { type: 'block_end', index: 0, block: { type: 'text', text: 'Done.' } };
    yield { type: 'finish', stopReason: 'stop', usage: NO_USAGE };
  },
};

/** The prompt of a run that makes one call. */
export const promptFor = (name: string, args: JsonObject): string => JSON.stringify({ name, arguments: args });

/**
 * The agent for calls that clients make themselves: its tools, permissions and hooks are the agent's, its model only makes
 * the call. Its sessions are under an id of their own, so that they are not among the agent's.
 *
 * @throws TreadleError `invalid_definition` for a name that the agent doesn't have, or that can't be called here.
 */
export function callingAgent(agent: Agent, names: readonly string[] | true, taken: ReadonlySet<string>): Agent {
  const offered = new Map<string, Tool>();
  for (const name of names === true ? agent.tools.keys() : names) {
    const tool = agent.tools.get(name);
    const problem = tool ? problemOf(tool, taken) : `The agent ${agent.id} has no such tool.`;
    if (tool && problem === null) {
      // A tool that is denied whatever its arguments is not shown to models either.
      if (!agent.permissions.removed.has(name)) offered.set(name, tool);
    } else if (names !== true) throw new TreadleError('invalid_definition', `tools names ${name}. ${problem}`);
  }
  return Object.freeze({
    ...agent,
    id: `${agent.id}.tools`,
    model: CALLER,
    models: [CALLER],
    routing: null,
    tools: offered,
    toolDefinitions: agent.toolDefinitions.filter(({ name }) => offered.has(name)),
    toolSearch: null,
    memory: null,
    title: null,
    context: null,
    output: null,
    turnContext: null,
    requireToolCall: null,
    outputGuardrails: null,
    background: null,
    wrapUp: null,
  });
}

function problemOf({ name, runs, handsOff, endsRun }: Tool, taken: ReadonlySet<string>): string | null {
  if (taken.has(name)) return 'The server has a tool of this name itself.';
  if (runs === 'client') return 'It runs on a client of the agent, not here.';
  return handsOff || endsRun ? 'It works within a conversation only.' : null;
}

/** The definitions of the offered tools, as MCP has them. */
export const listed = ({ tools }: Agent): readonly object[] =>
  [...tools.values()].map(({ name, label, description, inputSchema, readOnly }) => ({
    name,
    title: label,
    description,
    inputSchema,
    ...(readOnly && { annotations: { readOnlyHint: true } }),
  }));

/** What a client gets of the call that a session has made. Without a call, it gets why there is none. */
export async function resultIn(session: Session, run: RunResult | null, blobs: Blobs | undefined): Promise<object> {
  const message = session.messages.findLast(({ role }) => role === 'tool');
  if (message?.role !== 'tool') {
    const text = ['The call was not made.', run?.message].filter(Boolean).join(' ');
    return { content: [{ type: 'text', text }], isError: true };
  }
  const content = await Promise.all(message.content.map((block) => blockFor(block, blobs)));
  return { content, ...(message.isError && { isError: true }) };
}

async function blockFor(block: ToolResultContent, blobs: Blobs | undefined): Promise<object> {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { mediaType: mimeType, blob } = block;
  const data = block.data ?? (blob && blobs ? base64Of(await readBlob(blobs, blob.id)) : null);
  if (data === null) return { type: 'text', text: `[${mimeType}: ${block.url ?? 'not kept'}]` };
  if (block.type === 'image') return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  const { name = 'file' } = block;
  const uri = URL.canParse(name) ? name : `treadle://files/${encodeURIComponent(name)}`;
  const isText = /^text\/|[/+]json$/.test(mimeType);
  const held = isText ? { text: Buffer.from(data, 'base64').toString('utf8') } : { blob: data };
  return { type: 'resource', resource: { uri, mimeType, ...held } };
}
