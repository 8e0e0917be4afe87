import type { Agent } from '../agent/agent.ts';
import type { AssistantMessage } from '../messages/message.ts';
import { finalAnswer, type StopToolCall } from '../projections/run-result.ts';
import type { SessionState, SucceededCall, TurnOutcome } from './state.ts';

/** The call of a stop tool by which a turn would end its run. */
export const endingCall = (last: TurnOutcome | null, agent: Agent): SucceededCall | undefined =>
  last?.succeeded.find(({ toolName }) => agent.tools.get(toolName)?.endsRun === true);

/** What the run has come to, between turns: the answer, and the call that gave it. */
export interface FinalAnswer {
  readonly text: string;
  readonly terminal: StopToolCall | null;
}

/** The answer of the turn that has ended last. */
export function answerOf(state: SessionState, agent: Agent): FinalAnswer {
  const reply = state.view.findLast((message): message is AssistantMessage => message.role === 'assistant') ?? null;
  const call = endingCall(state.run?.last ?? null, agent);
  // What was cut off and went on is one answer.
  if (!call) return { text: finalAnswer(reply, undefined, state.run?.limits.answered), terminal: null };
  const result = state.view.findLast((message) => message.role === 'tool' && message.callId === call.callId);
  return {
    text: finalAnswer(reply, result?.role === 'tool' ? result : undefined),
    terminal: { name: call.toolName, arguments: call.arguments },
  };
}
