import type { ModelMessage, ToolResultMessage, UserMessage } from '@treadle/core';
import type { Observation, Step } from './script.ts';

/** One thing the user asked for, and the turns this model has made since. */
export interface UserRequest {
  readonly text: string;
  /** It came in the middle of a run. */
  readonly steering: boolean;
  readonly steps: readonly Step[];
  /** This model has given its final answer to it. */
  readonly answered: boolean;
}

interface OpenRequest {
  readonly text: string;
  readonly steering: boolean;
  readonly steps: Step[];
  answered: boolean;
}

/** The user's requests in a conversation, oldest first. What the runtime wrote itself (reminders, limits) is none. */
export function requestsOf(messages: readonly ModelMessage[], provider: string): readonly UserRequest[] {
  const results = new Map<string, ToolResultMessage>();
  for (const message of messages) if (message.role === 'tool') results.set(message.callId, message);
  const requests: OpenRequest[] = [];
  for (const message of messages) {
    if (message.role === 'user' && message.origin !== 'reminder' && message.origin !== 'limit') {
      requests.push({
        text: requestText(message),
        steering: message.origin === 'steering',
        steps: [],
        answered: false,
      });
    }
    const open = requests.at(-1);
    if (message.role !== 'assistant' || message.provider !== provider || open === undefined) continue;
    if (message.stopReason === 'aborted' || message.stopReason === 'error') continue;
    const calls = message.content.filter((block) => block.type === 'tool_call');
    if (calls.length === 0) open.answered = true;
    else open.steps.push({ results: calls.map((call) => observation(call.name, results.get(call.callId))) });
  }
  return requests;
}

function observation(name: string, result: ToolResultMessage | undefined): Observation {
  if (result === undefined) return { name, isError: true, text: 'The call has no result.' };
  return { name, isError: result.isError, text: textOf(result) };
}

/** What the user asked for. A block that is one `<stdin>` section was piped in beside it: data, and never a request. */
function requestText(message: UserMessage): string {
  const asked = message.content.filter((block) => block.type !== 'text' || !PIPED.test(block.text));
  return textOf({ ...message, content: asked });
}

const PIPED = /^<(stdin(?:-\d+)?)>\n[^]*\n<\/\1>$/;

function textOf(message: UserMessage | ToolResultMessage): string {
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
