import { scriptedModel, type ScriptedModel, type ScriptedModelOptions, type Turn } from '@treadle/testing';
import type { ModelRequest } from '../entries/model.ts';
import { defineTool } from '../index.ts';

// Runs that are long enough to be compacted.

/** A tool whose every result is about 250 tokens long. */
export const look = defineTool({
  name: 'look',
  description: 'Looks around.',
  inputSchema: { type: 'object', properties: { at: { type: 'integer' } } },
  readOnly: true,
  execute: ({ at = 0 }) => `Place ${at}: ${'all is well; '.repeat(75)}`,
});

/** True for a request that asks for a summary. */
export function asksForSummary({ messages }: ModelRequest): boolean {
  const last = messages.at(-1);
  return last?.role === 'user' && last.origin === 'compaction' && last.removed === undefined;
}

/** A request's place in its run: how often the tool was called before. Counted by what the calls were for. */
const placeOf = ({ messages }: ModelRequest): number =>
  messages.reduce((most, message) => {
    if (message.role !== 'assistant') return most;
    return message.content.reduce(
      (at, block) => (block.type === 'tool_call' ? Math.max(at, Number(block.arguments['at']) + 1) : at),
      most,
    );
  }, 0);

/** A model that looks at so many places, then says that it is done, and writes summaries when it is asked to. */
export function explorer(
  places: number,
  summary: Turn | string | ((request: ModelRequest) => Turn | string) = 'All was well so far.',
  options: ScriptedModelOptions = {},
): ScriptedModel {
  return scriptedModel(
    (request) => {
      if (asksForSummary(request)) {
        const made = typeof summary === 'function' ? summary(request) : summary;
        return typeof made === 'string' ? { text: made, usage: null } : made;
      }
      const at = placeOf(request);
      if (at >= places) return { text: 'Done.', usage: null };
      return { text: `Going on to ${at}.`, toolCalls: [{ name: 'look', arguments: { at } }], usage: null };
    },
    { chunkSize: Number.POSITIVE_INFINITY, ...options },
  );
}
