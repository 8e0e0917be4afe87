import type { DurableEventBody } from '../../events/events.ts';
import type { Agent } from '../../agent/agent.ts';
import { isJsonObject } from '../../json.ts';
import type { BetweenTurns } from '../../kernel/between-turns.ts';
import type { SessionState } from '../../kernel/state.ts';
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

/** The system prompt of the open turn: what `instructions` said for it, before what the agent always says. */
export function systemOf({ run, decisions }: SessionState, { turnContext: asked, instructions }: Agent): string {
  if (!asked?.instructions || !run?.turn) return instructions;
  const answer = decisions.get(contextKey(run.turn.index))?.answer;
  const said = isJsonObject(answer) ? answer['instructions'] : undefined;
  if (typeof said !== 'string') return instructions;
  return instructions === '' ? said : `${said}\n\n${instructions}`;
}
