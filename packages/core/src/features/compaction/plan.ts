import type { Agent } from '../../agent/agent.ts';
import type { CompactionTrigger } from '../../events/events.ts';
import { endRun, rejectInput } from '../../kernel/plan/run-events.ts';
import { turnEnded } from '../../kernel/plan/turn-events.ts';
import { viewTokens } from '../../kernel/services/context-window.ts';
import { asHookDecision } from '../../kernel/services/hook-decision.ts';
import type { InboxEntry, RunState, SessionState, TurnState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';
import type { Model } from '../../model/model.ts';
import { contextBounds } from './options.ts';

/** A view that couldn't be brought below the threshold is due again when it has grown by this share of the window. */
const LEAST_GROWTH = 0.05;

/**
 * What must happen to the view before this turn's model is called; null when nothing must. No tool is in flight here, and
 * everything the call is to be sent is in the view.
 */
export function gateCompaction(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  agent: Agent,
  now: number,
): Step | null {
  if (run.tooLong !== null) return endTooLong(run, turn, agent, now, run.tooLong);
  if (turn.failure) return turn.failure.retry ? null : planOverflow(state, run, turn, agent, now);
  const wish = state.inbox.find(({ input }) => input.type === 'compact');
  if (wish) return onWish(state, agent, wish, now, turn);
  if (agent.context === null || turn.compacted || !isDue(state, agent, turn)) return null;
  const asked = askFirst(state, agent, 'auto', { turn });
  return asked.type === 'no' ? null : asked.step;
}

/** Somebody wants the view smaller while no run is open. */
export const planIdleCompaction = (state: SessionState, agent: Agent, entry: InboxEntry, now: number): Step | null =>
  entry.input.type !== 'compact'
    ? null
    : entry.cancelled
      ? { type: 'record', events: [rejectInput(entry, now, 'The compaction was interrupted.')] }
      : onWish(state, agent, entry, now);

function onWish(state: SessionState, agent: Agent, entry: InboxEntry, now: number, turn?: TurnState): Step {
  const asked = askFirst(state, agent, 'manual', { entry, ...(turn ? { turn } : {}) });
  if (asked.type !== 'no') return asked.step;
  return { type: 'record', events: [rejectInput(entry, now, asked.reason, state.run?.runId)] };
}

/** The provider said that the request is too long: once per turn the view is compacted and the request made again. */
function planOverflow(state: SessionState, run: RunState, turn: TurnState, agent: Agent, now: number): Step | null {
  const { error } = turn.failure ?? {};
  if (error?.kind !== 'context_overflow') return null;
  if (agent.context === null) return endTooLong(run, turn, agent, now, `${error.message} ${NO_POLICY}`);
  // What people have seen of the reply stands; it is not asked for again.
  if (turn.message !== null) return endTooLong(run, turn, agent, now, error.message);
  if (turn.overflowed) return endTooLong(run, turn, agent, now, `${STILL_TOO_LONG} ${error.message}`);
  const asked = askFirst(state, agent, 'overflow', { turn });
  return asked.type === 'no' ? endTooLong(run, turn, agent, now, asked.reason) : asked.step;
}

const NO_POLICY = 'The agent has `context: false`, so nothing was removed to make it fit.';

const STILL_TOO_LONG = 'The request is too long, even after a compaction.';

function endTooLong(run: RunState, turn: TurnState, agent: Agent, now: number, message: string): Step {
  const error = turn.failure?.error;
  const more = error?.kind === 'context_overflow' ? { message, error } : { message };
  return {
    type: 'record',
    events: [turnEnded(run, turn, agent, now), endRun(run, now, 'context_limit', error ? 'error' : null, more)],
  };
}

function isDue(state: SessionState, agent: Agent, turn: TurnState): boolean {
  if (agent.context === null) return false;
  const bounds = contextBounds(agent.context, modelOf(agent, turn.modelIndex));
  if (!bounds) return false;
  const least = (state.compactedTo ?? -Infinity) + LEAST_GROWTH * bounds.window;
  return viewTokens(state, agent) > Math.max(bounds.threshold, least);
}

/** The model that is asked. */
export const modelOf = (agent: Agent, index: number): Model => agent.models[index] ?? agent.model;

type Asked = { readonly type: 'step'; readonly step: Step } | { readonly type: 'no'; readonly reason: string };

/** Hooks have their say, once; then it is done. */
function askFirst(
  state: SessionState,
  agent: Agent,
  trigger: CompactionTrigger,
  { turn, entry }: { readonly turn?: TurnState; readonly entry?: InboxEntry },
): Asked {
  const place = {
    ...(turn ? { turnIndex: turn.index } : {}),
    ...(entry ? { inputSeq: entry.seq } : {}),
  };
  const wished = entry?.input.type === 'compact' ? entry.input.instructions : undefined;
  const instructions = wished === undefined ? [] : [wished];
  if (!agent.hooks?.has('before_compaction', trigger)) {
    return { type: 'step', step: { type: 'compact', trigger, ...place, instructions } };
  }
  const key = `before_compaction:${trigger}:${entry ? entry.seq : `${state.run?.runId}:${turn?.index}`}`;
  const known = state.decisions.get(key);
  if (known === undefined) {
    const run = state.run ? { runId: state.run.runId } : {};
    const question = { type: 'hook', event: 'before_compaction', key, trigger, ...run, ...place } as const;
    return { type: 'step', step: { type: 'decide', questions: [question] } };
  }
  const { decision, reason, context } = asHookDecision(known.answer);
  if (decision !== 'proceed') return { type: 'no', reason: reason ?? 'A before_compaction hook said no.' };
  const added = context === undefined ? instructions : [...instructions, context];
  return { type: 'step', step: { type: 'compact', trigger, ...place, instructions: added } };
}
