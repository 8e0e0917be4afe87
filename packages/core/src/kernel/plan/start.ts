import type { Agent } from '../../agent/agent.ts';
import type { RunEnd } from '../../events/events.ts';
import { asHookDecision, type HookDecision } from '../services/hook-decision.ts';
import { askAboutInput, filterRefusal } from '../../features/guardrails/plan.ts';
import { endRun, rejectInput, type StartedRun } from './runs.ts';
import type { Question } from '../services/question.ts';
import { memoryKey } from '../services/run-context.ts';
import type { InboxEntry, SessionState } from '../state.ts';
import type { Step } from '../step.ts';

/** What stands between an input and its run. */
interface Start {
  readonly state: SessionState;
  readonly agent: Agent;
  readonly entry: InboxEntry;
  readonly started: StartedRun;
  readonly now: number;
}

/** Each asks, refuses, or (null) has nothing against the run. In this order. */
const START_GATES: readonly ((start: Start) => Step | null)[] = [
  filterGate,
  hookGate('user_prompt_submit'),
  hookGate('before_run'),
  memoryGate,
];

/** What must happen before a run may start; null when it may. */
export function gateRun(start: Start): Step | null {
  for (const gate of START_GATES) {
    const step = gate(start);
    if (step) return step;
  }
  return null;
}

function filterGate(start: Start): Step | null {
  const { state, agent, entry, started } = start;
  if (!agent.inputFilters || entry.input.type !== 'prompt') return null;
  const first = askAboutInput(state, agent, [entry.seq], started.run.runId);
  const reason = first ? null : filterRefusal(state, entry.seq);
  return reason === null ? first : refuseRun(start, reason);
}

function hookGate(event: 'user_prompt_submit' | 'before_run'): (start: Start) => Step | null {
  return (start) => {
    const { state, agent, entry, started } = start;
    if (!agent.hooks?.has(event) || (event === 'user_prompt_submit' && entry.input.type !== 'prompt')) return null;
    const key = `${event}:${entry.seq}`;
    const known = state.decisions.get(key);
    const question: Question = { type: 'hook', event, key, runId: started.run.runId, inputSeq: entry.seq };
    if (known === undefined) return { type: 'decide', questions: [question] };
    const said = asHookDecision(known.answer);
    return mayStart(said) ? null : refuseRun(start, said.endRun ?? said.reason ?? `A ${event} hook said no.`);
  };
}

/** What the memory knows is part of what the run starts with; it refuses nothing. */
function memoryGate({ state, agent, entry, started }: Start): Step | null {
  if (agent.memory === null || entry.input.type !== 'prompt') return null;
  const key = memoryKey(entry.seq);
  if (state.decisions.has(key)) return null;
  const { runId } = started.run;
  return { type: 'decide', questions: [{ type: 'memory', key, runId, inputSeq: entry.seq }] };
}

const mayStart = ({ decision, endRun }: HookDecision): boolean => decision === 'proceed' && endRun === undefined;

/** The run ends before it began: nobody hears of its start, and nothing of the prompt joins the history. */
export function refuseRun({ entry, started, now }: Start, reason: string, end: RunEnd = 'rejected'): Step {
  const { run } = started;
  return {
    type: 'record',
    events: [
      rejectInput(entry, now, reason, run.runId),
      endRun(run, now, end, null, { message: reason, inputSeq: entry.seq }),
    ],
  };
}
