import type { Agent } from '../agent/agent.ts';
import type { DurableEventBody, RunStatus } from '../events/events.ts';
import type { Question } from './services/question.ts';
import type { RunState, SessionState } from './state.ts';
import type { Step } from './step.ts';

/** What decides about the next turn. */
export interface BetweenTurns {
  readonly state: SessionState;
  readonly run: RunState;
  readonly agent: Agent;
  readonly now: number;
  /** How the last turn came out; null before the first. */
  readonly last: RunState['last'];
}

/** What a gate at the end of a run says: do this first, go on with these messages, or end it otherwise. */
export type FinishGate =
  | { readonly type: 'first'; readonly step: Step }
  | { readonly type: 'go_on'; readonly messages: readonly DurableEventBody[] }
  | { readonly type: 'end'; readonly status: RunStatus; readonly message: string };

export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

export const ask = (question: Question): FinishGate => ({
  type: 'first',
  step: { type: 'decide', questions: [question] },
});

export function tell({ run, now }: BetweenTurns, what: 'output' | 'check', text: string): FinishGate {
  const { runId } = run;
  const id = `${runId}.${what}.${run.turns}`;
  const message = { role: 'user', id, at: now, origin: 'check', content: [{ type: 'text', text }] } as const;
  return { type: 'go_on', messages: [{ type: 'message_added', at: now, runId, inView: true, message }] };
}
