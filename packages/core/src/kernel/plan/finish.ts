import { asHookDecision } from '../services/hook-decision.ts';
import type { BetweenTurns, FinishGate } from '../between-turns.ts';
import { timeIsUp } from '../../features/limits/plan.ts';
import { outputGate } from '../../features/output/plan.ts';
import { checkGate } from '../../features/guardrails/plan.ts';

/** Each has its say before a run ends well; null when it has nothing against the end. In this order. */
const FINISH_GATES: readonly ((between: BetweenTurns) => FinishGate | null)[] = [
  outputGate,
  checkGate,
  stopHook,
  memoryUpdate,
];

/** What must happen before a run may end well; null when it may. */
export function gateFinish(between: BetweenTurns): FinishGate | null {
  for (const gate of FINISH_GATES) {
    const said = gate(between);
    if (said) return said;
  }
  return null;
}

/** A stop hook that says no keeps the run going, with its reason for the model. */
function stopHook({ state, run, agent, now }: BetweenTurns): FinishGate | null {
  if (!agent.hooks?.has('stop')) return null;
  const { runId } = run;
  const key = `stop:${run.turns}`;
  const known = state.decisions.get(key);
  if (known === undefined) {
    return { type: 'first', step: { type: 'decide', questions: [{ type: 'hook', event: 'stop', key, runId }] } };
  }
  const { decision, reason, endRun } = asHookDecision(known.answer);
  if (decision !== 'deny' || endRun !== undefined) return null;
  const text = reason ?? 'A stop hook says that there is more to do.';
  const id = `${runId}.stop.${run.turns}`;
  const message = { role: 'user', id, at: now, origin: 'hook', content: [{ type: 'text', text }] } as const;
  return { type: 'go_on', messages: [{ type: 'message_added', at: now, runId, inView: true, message }] };
}

/** A run that a limit ended has an answer too when its closing call gave one, and the memory hears of it. */
export const afterClosing = (between: BetweenTurns): FinishGate | null =>
  between.run.limits.closing !== null && between.last?.hasText === true ? memoryUpdate(between) : null;

/** The memory hears of the run before it ends: whoever drives on after a crash tells it again. */
function memoryUpdate(between: BetweenTurns): FinishGate | null {
  const { state, run, agent } = between;
  // The answer stands. A run that is out of time doesn't lose it for a memory that is slow.
  if (agent.memory === null || timeIsUp(between) !== null) return null;
  const { runId } = run;
  // A follow-up that comes meanwhile makes more of the run, and that is told too.
  const key = `memory_update:${run.turns}`;
  if (state.decisions.has(key)) return null;
  return { type: 'first', step: { type: 'decide', questions: [{ type: 'memory_update', key, runId }] } };
}
