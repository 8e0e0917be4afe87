import type { DurableEventBody, ViewPart } from '../../events/events.ts';
import { isJsonObject } from '../../json.ts';
import type { BetweenTurns } from '../../kernel/between-turns.ts';
import type { SucceededCall } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

type To = NonNullable<Extract<DurableEventBody, { type: 'run_ended' }>['handoff']>;

/** What a terminal call hands over, and to whom: null when it doesn't. What the next agent is shown is decided first. */
export function planHandoff(
  { state, run, agent }: BetweenTurns,
  { callId, toolName }: SucceededCall,
): { readonly type: 'first'; readonly step: Step } | { readonly type: 'over'; readonly to: To } | null {
  const handsOff = agent.tools.get(toolName)?.handsOff;
  if (!handsOff) return null;
  const { agentId, filter } = handsOff;
  if (!filter) return { type: 'over', to: { agentId } };
  const key = `handoff:${callId}`;
  const known = state.decisions.get(key);
  if (known === undefined) {
    return { type: 'first', step: { type: 'decide', questions: [{ type: 'handoff', key, runId: run.runId, callId }] } };
  }
  const view = isJsonObject(known.answer) && Array.isArray(known.answer['view']) ? known.answer['view'] : [];
  return { type: 'over', to: { agentId, view: view as readonly ViewPart[] } };
}
