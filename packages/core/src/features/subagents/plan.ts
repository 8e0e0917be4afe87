import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { rejectCall } from '../../kernel/plan/reject-call.ts';
import type { RunState, SessionState, TurnState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';
import { depthBelow } from './limits.ts';

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
