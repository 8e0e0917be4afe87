import { isJsonObject } from '../../json.ts';
import type { BetweenTurns } from '../../kernel/between-turns.ts';
import type { Step } from '../../kernel/step.ts';
import { routingKey } from './fold.ts';

/** Asks which model the next turn is for; null when that is decided, or nobody chooses. */
export function askRouting({ state, run, agent }: BetweenTurns): Step | null {
  if (!agent.routing) return null;
  const { runId, turns: turnIndex } = run;
  const key = routingKey(turnIndex);
  return state.decisions.has(key) ? null : { type: 'decide', questions: [{ type: 'routing', key, runId, turnIndex }] };
}

/** Which of the agent's models the next turn asks: the one that was chosen, or that of the turn before. */
export function routedModel({ state, run, agent }: BetweenTurns): number {
  if (!agent.routing) return run.modelIndex;
  const said = state.decisions.get(routingKey(run.turns))?.answer;
  const name = said !== undefined && isJsonObject(said) ? said['model'] : null;
  // A model that was chosen by another process, and that this one doesn't know, is not guessed at.
  return (typeof name === 'string' ? agent.routing.indexes.get(name) : undefined) ?? run.modelIndex;
}
