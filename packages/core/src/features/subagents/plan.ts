import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { depthBelow } from './limits.ts';
import { rejectCall } from '../../kernel/perform/reject-call.ts';
import type { CallState, PausedCall, RunState, SessionState, TurnState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

/** True while a call's sub-agent waits for somebody, and nothing is known to have changed. */
export const isWaiting = ({ status, paused }: CallState): boolean => status === 'started' && paused?.woken === false;

/** Whether something that a sub-agent waits for had its time: it goes on then, and refuses what nobody has answered. */
export const isOverdue = ({ pending }: PausedCall, now: number): boolean =>
  pending.some(({ expiresAt = Infinity }) => now >= expiresAt);

/** Calls that would start a sub-agent where there may be none, or no more. */
export function refuseChildren(run: RunState, turn: TurnState, agent: Agent, now: number): DurableEventBody[] {
  const { maxChildren } = agent.subAgents;
  let left = maxChildren - run.children;
  const isDeep = depthBelow(agent.subAgents) === 0;
  if (!isDeep && left >= turn.calls.length) return [];
  return turn.calls.flatMap((call) => {
    if (call.status !== 'requested' || !agent.tools.get(call.name)?.delegates) return [];
    if (!isDeep && left > 0) {
      left -= 1;
      return [];
    }
    const why = isDeep
      ? 'an agent at this depth may start no further ones. Do the work yourself'
      : `a run may start ${maxChildren} agents, and they are used up. Go on with what you have`;
    return [rejectCall(run, turn, call, now, 'sub_agent_limit', `Not executed: ${why}.`)];
  });
}

/** What calls have started and nobody works on must end with their run: null when there is nothing of the kind. */
export function stopOpenChildren({ epoch }: SessionState, turn: TurnState, reason: string): Step | null {
  const calls = turn.calls.filter(
    (call) =>
      call.status === 'started' &&
      !call.isForked &&
      call.childSessionId !== null &&
      (call.paused !== null || call.epoch < epoch),
  );
  return calls.length > 0 ? { type: 'stop_children', turnIndex: turn.index, calls, reason } : null;
}
