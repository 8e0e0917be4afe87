import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { ask, type BetweenTurns, type FinishGate, tell, times } from '../../kernel/between-turns.ts';
import type { Question } from '../../kernel/services/question.ts';
import { endRun, rejectInput } from '../../kernel/plan/run-events.ts';
import { refuseRun, type Start } from '../../kernel/plan/start.ts';
import type { SessionState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';
import { asGuardrailDecision } from './output.ts';
import { asFilterDecision, filterKey } from './input.ts';

/** What the output guardrails say of the answer. */
export function checkGate(between: BetweenTurns): FinishGate | null {
  const { state, run, agent } = between;
  if (!agent.outputGuardrails) return null;
  const key = `check:${run.turns}`;
  const known = state.decisions.get(key);
  if (known === undefined) return ask({ type: 'check', key, runId: run.runId });
  const said = asGuardrailDecision(known.answer);
  if (said.ok) return null;
  if (said.broken === true) return { type: 'end', status: 'guardrail_failed', message: said.message };
  if (run.checksFailed > (said.retries ?? 0)) {
    const message = `The answer failed its check, ${times(run.checksFailed)}: ${said.message}`;
    return { type: 'end', status: 'guardrail_failed', message };
  }
  return tell(between, 'check', said.message);
}

/** Asks about an input that no filter has seen; null when it was asked about, or nobody is to be. */
function askAboutInput(state: SessionState, agent: Agent, inputSeqs: readonly number[], runId: string): Step | null {
  if (!agent.inputGuardrails) return null;
  const questions = inputSeqs
    .map((inputSeq): Question => ({ type: 'filter', key: filterKey(inputSeq), runId, inputSeq }))
    .filter(({ key }) => !state.decisions.has(key));
  return questions.length === 0 ? null : { type: 'decide', questions };
}

/** Why the filters refuse an input; null when they don't. */
function filterRefusal(state: SessionState, inputSeq: number): string | null {
  const known = state.decisions.get(filterKey(inputSeq));
  const said = known && asFilterDecision(known.answer);
  return said?.verdict === 'reject' ? said.reason : null;
}

/** What stands between messages that were queued and the turn they belong to; null when they may come in. */
export function gateDelivery(
  between: BetweenTurns,
  prompt: readonly DurableEventBody[],
  messages: readonly DurableEventBody[],
): Step | null {
  const { state, run, agent, now, last } = between;
  if (!agent.inputGuardrails) return null;
  const seqs = messages.flatMap((event) =>
    event.type === 'message_added' && event.inputSeq !== undefined ? [event.inputSeq] : [],
  );
  const first = askAboutInput(state, agent, seqs, run.runId);
  if (first) return first;
  const refused = state.inbox.flatMap((entry) => {
    const reason = seqs.includes(entry.seq) ? filterRefusal(state, entry.seq) : null;
    return reason === null ? [] : [{ entry, reason }];
  });
  const [worst] = refused;
  if (!worst) return null;
  const rejected = refused.map(({ entry, reason }) => rejectInput(entry, now, reason, run.runId));
  const end = endRun(run, now, 'rejected', last?.stopReason ?? null, { message: worst.reason });
  return { type: 'record', events: [...prompt, ...rejected, end] };
}

export function filterGate(start: Start): Step | null {
  const { state, agent, entry, started } = start;
  if (!agent.inputGuardrails || entry.input.type !== 'prompt') return null;
  const first = askAboutInput(state, agent, [entry.seq], started.run.runId);
  const reason = first ? null : filterRefusal(state, entry.seq);
  return reason === null ? first : refuseRun(start, reason);
}
