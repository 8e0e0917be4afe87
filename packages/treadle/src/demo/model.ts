import type { Model, ModelMessage } from '@treadle/core';
import type { ModelEvent, ModelRequest, ModelToolCall } from '@treadle/core/model';
import { nextReply, type Reply, type Result } from './job.ts';
import { jobFor, unknownPrompt } from './jobs.ts';

const PROVIDER = 'demo';
const ID = 'demo-1';

/**
 * A model for a first look, without a key and without a network. It knows a few prompts, does them with the agent's real
 * tools (`list_files`, `read_file`, `write_file`, `search` and `bash`), and answers every other prompt with the list of
 * them. The same conversation gets the same reply. Usage is an estimate of four characters a token, and costs nothing.
 *
 * For tests use `scriptedModel` of `@treadle/testing`.
 *
 * @example
 * ```ts
 * import { builtInTools, createSession, defineAgent } from 'treadle';
 * import { demoModel } from 'treadle/demo';
 *
 * const agent = defineAgent({ model: demoModel(), tools: builtInTools({ root: process.cwd() }) });
 * const session = await createSession(agent);
 * const { text } = await session.prompt('What is in this folder?').result;
 * console.log(text);
 * ```
 */
export function demoModel(): Model {
  return { provider: PROVIDER, id: ID, contextWindow: 1_000_000, cost: () => 0, stream };
}

async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
  for (const event of eventsOf(replyTo(request), request)) {
    if (signal.aborted) {
      yield { type: 'error', error: { kind: 'cancelled', message: 'The call was cancelled.', retryable: false } };
      return;
    }
    yield event;
  }
}

/** Origins of messages that a person or a program wrote. The runtime wrote the others. */
const ASKED: ReadonlySet<string> = new Set(['prompt', 'steering', 'follow_up', 'import']);

function replyTo({ messages, tools, toolChoice }: ModelRequest): Reply {
  const at = messages.findLastIndex((message) => message.role === 'user' && ASKED.has(message.origin));
  const asked = messages[at];
  const job = asked === undefined ? undefined : jobFor(promptOf(asked));
  if (job === undefined) return { text: unknownPrompt(), calls: [] };
  const callable = new Set(toolChoice === 'none' ? [] : tools.map(({ name }) => name));
  return nextReply(job, resultsIn(messages.slice(at + 1)), callable);
}

/** What was piped in next to a prompt, or mentioned in it: data, and no request. */
const PIPED = /^<((?:stdin|file)(?:-\d+)?)(?: path=.*)?>\n[^]*\n<\/\1>$/;

function promptOf({ content }: ModelMessage): string {
  const texts = content.flatMap((block) => (block.type === 'text' && !PIPED.test(block.text) ? [block.text] : []));
  return texts.join('\n').trim();
}

/** The results of each turn with tool calls, in order. */
function resultsIn(messages: readonly ModelMessage[]): readonly (readonly Result[])[] {
  const results = new Map<string, Result>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    results.set(message.callId, { name: message.toolName, text, isError: message.isError });
  }
  return messages.flatMap((message) => {
    if (message.role !== 'assistant' || message.stopReason === 'aborted' || message.stopReason === 'error') return [];
    const calls = message.content.filter((block) => block.type === 'tool_call');
    const lost = { text: 'There is no result.', isError: true };
    return calls.length === 0 ? [] : [calls.map(({ callId, name }) => results.get(callId) ?? { name, ...lost })];
  });
}

const CHARACTERS_PER_TOKEN = 4;

/** The stream of a reply. `maxTokens` cuts its text, and a reply that was cut makes no calls. */
function* eventsOf(reply: Reply, request: ModelRequest): Generator<ModelEvent> {
  const { maxTokens = Number.POSITIVE_INFINITY, messages, system, tools } = request;
  const text = reply.text.slice(0, maxTokens * CHARACTERS_PER_TOKEN).toWellFormed();
  const isCut = text.length < reply.text.length;
  const calls = isCut ? [] : reply.calls;
  let output = text.length;
  yield { type: 'start', model: ID };
  for (const part of partsOf(text)) yield { type: 'text_delta', index: 0, text: part };
  yield { type: 'block_end', index: 0, block: { type: 'text', text } };
  for (const [number, call] of calls.entries()) {
    const index = number + 1;
    const block: ModelToolCall = {
      type: 'tool_call',
      providerCallId: `demo_${messages.length}_${index}`,
      name: call.name,
      argumentsText: JSON.stringify(call.arguments),
    };
    output += block.argumentsText.length;
    yield { type: 'tool_call_start', index, providerCallId: block.providerCallId, name: block.name };
    for (const part of partsOf(block.argumentsText)) yield { type: 'tool_arguments_delta', index, text: part };
    yield { type: 'block_end', index, block };
  }
  const input = JSON.stringify([system, tools, messages.map(({ content }) => content)]).length;
  yield {
    type: 'finish',
    stopReason: isCut ? 'length' : calls.length > 0 ? 'tool_use' : 'stop',
    usage: { input: tokensOf(input), output: tokensOf(output), cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  };
}

const tokensOf = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/** A text in pieces of about 16 characters, none of which splits a character. */
const partsOf = (text: string): readonly string[] => text.match(/[^]{1,16}/gu) ?? [];
