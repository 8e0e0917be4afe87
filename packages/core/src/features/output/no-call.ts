import type { DurableEventBody } from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import type { Agent } from '../../agent/agent.ts';
import { lacksCall } from '../../kernel/plan/turn-events.ts';
import { turnOutcome, type RunState, type TurnState } from '../../kernel/state.ts';
import type { Message } from '../../messages/message.ts';
import type { Tool } from '../../tools/tool.ts';

/**
 * What a reply is that calls no tool: the answer, which ends the run, or a slip, of which the model is reminded. With
 * `remind` only a stop tool, or a limit, ends a run; a text of your own stands in place of the usual reminder.
 */
export type RequireToolCall = 'answer' | 'remind' | { readonly remind: string };

const REMINDER =
  'Your last reply called no tool, so nothing was done. If the task is not finished, call the tool for the next step. ' +
  'If it is, end it by calling one of: ';

/**
 * The reminder of this policy; null where a reply without a call is the answer.
 *
 * @throws TreadleError `invalid_definition` when nothing but a limit could end a run.
 */
export function checkNoToolCall(policy: RequireToolCall | undefined, tools: ReadonlyMap<string, Tool>): string | null {
  if (policy === undefined || policy === 'answer') return null;
  const own = typeof policy === 'object' ? policy.remind : null;
  if (policy !== 'remind' && (typeof own !== 'string' || own.trim() === '')) {
    throw new TreadleError('invalid_definition', 'requireToolCall must be "answer", "remind" or { remind: a text }.');
  }
  const ending = [...tools.values()].filter(({ endsRun: terminal }) => terminal).map(({ name }) => name);
  if (ending.length === 0) {
    throw new TreadleError(
      'invalid_definition',
      'With requireToolCall "remind" only a stop tool ends a run, and there is none. Set stopTools: true, or give a tool with endsRun: true.',
    );
  }
  return own ?? `${REMINDER}${ending.join(', ')}.`;
}

const ID = /\.no_call\.\d+$/;

/** True for the reminder that a reply called no tool. */
export const isNoCallReminder = (message: Message): boolean =>
  message.role === 'user' && message.origin === 'reminder' && ID.test(message.id);

/** What is recorded of a reply that should have called a tool, while its turn is open. */
export function noCallRejected(run: RunState, turn: TurnState, agent: Agent, at: number): DurableEventBody[] {
  if (agent.requireToolCall === null || !turn.message || !lacksCall(turnOutcome(turn))) return [];
  return [rejected(run.runId, turn.index, turn.message.id, at)];
}

function rejected(runId: string, turnIndex: number, messageId: string, at: number): DurableEventBody {
  return {
    type: 'tool_call_rejected',
    at,
    runId,
    turnIndex,
    callId: `no_call_${messageId}`,
    toolName: '',
    reason: 'no_call',
    content: [{ type: 'text', text: 'The reply called no tool.' }],
  };
}
