import { TreadleError, type Model, type ModelMessage } from '@treadle/core';
import { canonicalJson } from '@treadle/core/json';
import { UNKNOWN_USAGE, type ModelEvent, type ModelRequest } from '@treadle/core/model';
import { runInThread } from './engine.ts';
import type { JournalledCall, Script, ScriptLimits } from './script.ts';

/** No prompt of a script is too long: results are its data, and go to no provider. */
const NO_WINDOW = 1e12;

/**
 * A script in the place of a model: the prompt is its code, and its tool calls are those that the code makes. It is run from
 * the beginning for each turn, with the results of the conversation. So a session that another process resumes goes on
 * where it was, by the same path.
 */
export function scriptModel(limits: ScriptLimits): Model {
  return {
    provider: 'treadle',
    id: 'quickjs',
    contextWindow: NO_WINDOW,
    cost: () => 0,
    stream: (request, signal) => ({ [Symbol.asyncIterator]: () => reply(request, limits, signal) }),
  };
}

async function* reply(request: ModelRequest, limits: ScriptLimits, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  const outcome = await runInThread(scriptOf(request), limits, signal);
  yield { type: 'start' };
  if (outcome.type === 'calls') {
    for (const [index, { name, argumentsText }] of outcome.calls.entries()) {
      const providerCallId = `call_${index}`;
      yield { type: 'tool_call_start', index, providerCallId, name };
      yield { type: 'tool_arguments_delta', index, text: argumentsText };
      yield { type: 'block_end', index, block: { type: 'tool_call', providerCallId, name, argumentsText } };
    }
    yield { type: 'finish', stopReason: 'tool_use', usage: UNKNOWN_USAGE };
    return;
  }
  if (outcome.type === 'returned') {
    const text = outcome.output === '' ? '(The script printed and returned nothing.)' : outcome.output;
    yield { type: 'text_delta', index: 0, text };
    yield { type: 'block_end', index: 0, block: { type: 'text', text } };
    yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
    return;
  }
  const printed = outcome.type === 'failed' && outcome.output !== '' ? `\nIt printed:\n${outcome.output}` : '';
  const code = outcome.type === 'diverged' ? 'code_diverged' : 'code_failed';
  const message = `${outcome.problem}${printed}`;
  yield { type: 'error', error: { kind: 'other', code, message, retryable: false } };
}

/** What a conversation says of a script: its code, and each of its calls with the result. */
function scriptOf({ messages, tools }: ModelRequest): Script {
  const [prompt] = messages;
  if (prompt?.role !== 'user') throw new TreadleError('internal', 'The conversation of a script begins with its code.');
  const code = prompt.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  const results = new Map(messages.flatMap((message) => (message.role === 'tool' ? [[message.callId, message]] : [])));
  const journal = messages.flatMap((message) => {
    const step = message.role === 'assistant' ? stepOf(message, results) : null;
    return step === null ? [] : [step];
  });
  return { code, seed: prompt.id, startedAt: prompt.at, tools: tools.map(({ name }) => name), journal };
}

type Results = ReadonlyMap<string, Extract<ModelMessage, { role: 'tool' }>>;

function stepOf(
  { content, at }: Extract<ModelMessage, { role: 'assistant' }>,
  results: Results,
): Script['journal'][number] | null {
  let last = at;
  const calls = content.flatMap((block): JournalledCall[] => {
    if (block.type !== 'tool_call') return [];
    const { name, argumentsText } = block;
    const result = results.get(block.callId);
    last = Math.max(last, result?.at ?? at);
    return [
      {
        name,
        // What could not be read as arguments is kept as it was written.
        argumentsText: argumentsText ?? canonicalJson(block.arguments),
        result: result
          ? result.content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n')
          : '',
        isError: result?.isError ?? true,
      },
    ];
  });
  return calls.length === 0 ? null : { at: last, calls };
}
