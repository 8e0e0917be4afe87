import type { DurableEventBody } from '../../events/events.ts';
import type { BetweenTurns } from '../../kernel/between-turns.ts';
import type { Step } from '../../kernel/step.ts';
import { slotMessages } from './turn-context.ts';

const contextKey = (turnIndex: number): string => `turn_context:${turnIndex}`;

/** Asks for what is to be known before the next turn; null when it was asked, or nobody is to be. */
export function askTurnContext({ state, run, agent }: BetweenTurns): Step | null {
  const { runId, turns: turnIndex } = run;
  const key = contextKey(turnIndex);
  if (!agent.turnContext || state.decisions.has(key)) return null;
  return { type: 'decide', questions: [{ type: 'turn_context', key, runId, turnIndex }] };
}

/** What is to be known before the next turn, and isn't yet. */
export function turnContext({ state, run, agent, now }: BetweenTurns): readonly DurableEventBody[] {
  if (!agent.turnContext) return [];
  const { runId, turns: turnIndex } = run;
  return slotMessages(state.decisions.get(contextKey(turnIndex))?.answer, state.slots, { runId, turnIndex, at: now });
}
