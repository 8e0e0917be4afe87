import type { AssistantContent, JsonObject, Model, ModelMessage } from '@treadle/core';
import { type ModelToolCall, type ToolDefinition, UNKNOWN_USAGE } from '@treadle/core/model';
import { isJsonObject, parseJson } from '@treadle/core/json';

import { ask, question, userMessage, type ProbeLimits, type Reply } from './ask.ts';

export type Outcome = 'pass' | 'fail' | 'unknown';

/** What one probe of a server found. */
export interface Finding {
  readonly probe:
    'key' | 'caching' | 'streaming' | 'usage' | 'tool_call' | 'parallel_calls' | 'length_limit' | 'context_length';
  readonly outcome: Outcome;
  readonly detail: string;
}

/** What the probes of one server found. */
export interface ConformanceResult {
  readonly model: string;
  readonly findings: readonly Finding[];
}

export const TOOL: ToolDefinition = {
  name: 'get_temperature',
  description: 'The temperature in a city now, in degrees Celsius.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string', description: 'Name of the city.' } },
    required: ['city'],
  },
};

const COUNT = 'Count from one to forty in words, separated by commas.';

/** Tokens that a server may add to a limit of one: some have a least one of their own, which Treadle then sends. */
const LEAST_LIMIT = 16;

/**
 * Tries what a run needs of a server, one request after the other. When the first one gets no reply at all, the rest is
 * unknown and is not tried.
 *
 * @param contextLength what the server says of it
 */
export async function conformance(
  model: Model,
  limits: ProbeLimits,
  contextLength: () => Promise<number | null>,
): Promise<Finding[]> {
  const first = await ask(model, question(COUNT), limits);
  const findings = [streaming(first), usage(first)];
  if (first.error !== null) {
    const rest = ['tool_call', 'parallel_calls', 'length_limit', 'context_length'] as const;
    return [...findings, ...rest.map((name) => finding(name, 'unknown', 'not tried: there was no whole reply'))];
  }
  findings.push(await toolCall(model, limits));
  findings.push(await parallelCalls(model, limits));
  findings.push(lengthLimit(await ask(model, question(COUNT, { maxTokens: 1 }), limits)));
  const length = await contextLength();
  findings.push(
    length === null
      ? finding('context_length', 'unknown', 'the server does not say')
      : finding('context_length', 'pass', `${length} tokens`),
  );
  return findings;
}

export const finding = (name: Finding['probe'], outcome: Outcome, detail: string): Finding => ({
  probe: name,
  outcome,
  detail,
});

const failure = (name: Finding['probe'], { error }: Reply): Finding | null =>
  error && finding(name, 'fail', `${error.status ?? error.kind}: ${error.message}`);

export function streaming(reply: Reply): Finding {
  const failed = failure('streaming', reply);
  if (failed) return failed;
  if (reply.deltas > 1) return finding('streaming', 'pass', `${reply.deltas} pieces`);
  return finding('streaming', 'fail', reply.deltas === 0 ? 'the reply was empty' : 'the reply came in one piece');
}

function usage({ error, usage: counted }: Reply): Finding {
  if (error) return finding('usage', 'unknown', 'not tried: there was no whole reply');
  const { input, output } = counted ?? UNKNOWN_USAGE;
  if (input !== null && output !== null) return finding('usage', 'pass', `${input} in, ${output} out`);
  return finding('usage', 'fail', 'the reply does not say how many tokens it took, so limits and costs are not known');
}

async function toolCall(model: Model, limits: ProbeLimits): Promise<Finding> {
  const text = 'What is the temperature in Paris? Call get_temperature once, then answer.';
  const reply = await ask(model, question(text, { tools: [TOOL] }), limits);
  const wrong = failure('tool_call', reply) ?? callProblem(reply, 1);
  if (wrong) return wrong;
  const messages = [userMessage(text), ...turn(model, reply)];
  const answer = await ask(model, question(text, { tools: [TOOL], messages }), limits);
  const refused = failure('tool_call', answer);
  if (refused) return finding('tool_call', 'fail', `the result was refused: ${refused.detail}`);
  if (answer.blocks.length === 0) return finding('tool_call', 'fail', 'the reply to the result was empty');
  return finding('tool_call', 'pass', 'called, answered and taken in');
}

async function parallelCalls(model: Model, limits: ProbeLimits): Promise<Finding> {
  const text = 'Call get_temperature for Paris and for Rome, both at once, before you say anything.';
  const reply = await ask(model, question(text, { tools: [TOOL] }), limits);
  const calls = callsOf(reply);
  const wrong = failure('parallel_calls', reply) ?? problemOf('parallel_calls', calls, 0);
  if (wrong) return wrong;
  if (calls.length > 1) return finding('parallel_calls', 'pass', `${calls.length} calls with ids of their own`);
  return finding('parallel_calls', 'unknown', `the model made ${calls.length} of 2 calls at once`);
}

function lengthLimit(reply: Reply): Finding {
  const failed = failure('length_limit', reply);
  if (failed) return failed;
  const output = reply.usage?.output ?? null;
  if (reply.stopReason !== 'length') {
    return finding('length_limit', 'fail', `a limit of one token ended as ${reply.stopReason}, not as length`);
  }
  if (output !== null && output > LEAST_LIMIT) {
    return finding('length_limit', 'fail', `a limit of one token let ${output} through`);
  }
  return finding('length_limit', 'pass', 'the reply ended at the limit, and says so');
}

const callsOf = ({ blocks }: Reply): ModelToolCall[] => blocks.filter((block) => block.type === 'tool_call');

/** What is wrong with the calls that were asked for. */
export const callProblem = (reply: Reply, least: number): Finding | null =>
  problemOf('tool_call', callsOf(reply), least);

/** What is wrong with the calls of one reply. */
function problemOf(name: Finding['probe'], calls: readonly ModelToolCall[], least: number): Finding | null {
  if (calls.length < least) return finding(name, 'fail', 'the model called no tool, though it was asked to');
  const other = calls.find((call) => call.name !== TOOL.name);
  if (other) return finding(name, 'fail', `a call has a name that no tool has: '${other.name}'`);
  if (calls.some((call) => typeof argumentsOf(call)?.['city'] !== 'string')) {
    return finding(name, 'fail', 'the arguments of a call are not the JSON object that the schema asks for');
  }
  const ids = calls.map((call) => call.providerCallId);
  if (ids.includes('')) return finding(name, 'fail', 'a call has no id');
  if (new Set(ids).size < ids.length) return finding(name, 'fail', 'two calls of one reply have the same id');
  return null;
}

function argumentsOf({ argumentsText }: ModelToolCall): JsonObject | null {
  try {
    const value = parseJson(argumentsText);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The reply as a message, and the results of its calls. */
function turn(model: Model, reply: Reply): ModelMessage[] {
  const content: AssistantContent[] = [];
  const results: ModelMessage[] = [];
  for (const [index, block] of reply.blocks.entries()) {
    if (block.type !== 'tool_call') {
      content.push(block);
      continue;
    }
    const { argumentsText: _text, ...call } = block;
    const callId = `call_probe_${index}`;
    content.push({ ...call, callId, arguments: argumentsOf(block) ?? {} });
    results.push({
      role: 'tool',
      id: `result_${index}`,
      at: 0,
      callId,
      toolName: block.name,
      content: [{ type: 'text', text: '21 °C' }],
      isError: false,
    });
  }
  const assistant: ModelMessage = {
    role: 'assistant',
    id: 'message_reply',
    at: 0,
    provider: model.provider,
    model: model.id,
    content,
    stopReason: reply.stopReason ?? 'other',
    usage: reply.usage ?? UNKNOWN_USAGE,
    cost: null,
  };
  return [assistant, ...results];
}
