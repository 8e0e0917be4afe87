import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { contextMessage, contextMessageId } from '../../kernel/services/run-context.ts';
import type { SessionState } from '../../kernel/state.ts';
import { memoryContent } from './ask.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { BetweenTurns, FinishGate } from '../../kernel/between-turns.ts';
import type { Start } from '../../kernel/plan/start.ts';
import type { Step } from '../../kernel/step.ts';
import type { UserContent } from '../../messages/content.ts';
import { timeIsUp } from '../../kernel/services/run-limits.ts';

/** What the memory knows is part of what the run starts with; it refuses nothing. */
export function memoryGate({ state, agent, entry, started }: Start): Step | null {
  if (agent.memory === null || entry.input.type !== 'prompt') return null;
  const key = memoryKey(entry.seq);
  if (state.decisions.has(key)) return null;
  const { runId } = started.run;
  return { type: 'decide', questions: [{ type: 'memory', key, runId, inputSeq: entry.seq }] };
}

/** The key of what the memory said to the prompt of this input. */
const memoryKey = (inputSeq: number): string => `memory:${inputSeq}`;

const contentOf = (answer: JsonValue): readonly UserContent[] =>
  isJsonObject(answer) && Array.isArray(answer['content']) ? (answer['content'] as UserContent[]) : [];

/** What the memory knows, at the start of a run. What the view has already isn't said again. */
export function remembered(
  state: SessionState,
  _agent: Agent,
  { runId, inputSeq }: { readonly runId: string; readonly inputSeq: number },
  at: number,
): DurableEventBody[] {
  const known = state.decisions.get(memoryKey(inputSeq));
  const found = known ? contentOf(known.answer) : [];
  const isSaid = state.view.some(({ id }) => id === contextMessageId(runId, 'memory'));
  return found.length === 0 || isSaid ? [] : [contextMessage(runId, at, 'memory', memoryContent(found))];
}

/** A run that a limit ended has an answer too when its closing call gave one, and the memory hears of it. */
export const afterClosing = (between: BetweenTurns): FinishGate | null =>
  between.run.limits.closing !== null && between.last?.hasText === true ? memoryUpdate(between) : null;

/** The memory hears of the run before it ends: whoever drives on after a crash tells it again. */
export function memoryUpdate(between: BetweenTurns): FinishGate | null {
  const { state, run, agent } = between;
  // The answer stands. A run that is out of time doesn't lose it for a memory that is slow.
  if (agent.memory === null || timeIsUp(between) !== null) return null;
  const { runId } = run;
  // A follow-up that comes meanwhile makes more of the run, and that is told too.
  const key = `memory_update:${run.turns}`;
  if (state.decisions.has(key)) return null;
  return { type: 'first', step: { type: 'decide', questions: [{ type: 'memory_update', key, runId }] } };
}
