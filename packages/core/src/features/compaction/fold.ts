import type { DurableEvent } from '../../events/events.ts';
import type { RunState, SessionState } from '../../kernel/state.ts';
import { NO_ANCHOR } from '../../messages/measure.ts';
import { addUsage, type Usage } from '../../model/usage.ts';
import { forgetReads } from '../files/reduce-reads.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** Counts what a run has used. Its cost is unknown once any part of it is. */
export function spend(run: RunState, usage: Usage, cost: number | null): void {
  run.usage = addUsage(run.usage, usage);
  run.cost = run.cost === null || cost === null ? null : run.cost + cost;
}

/** Another agent drives from here on, and sees what it is to be shown. */
export function handOver(state: SessionState, { agentId, view }: NonNullable<EventOf<'run_ended'>['handoff']>): void {
  state.drivenBy = agentId;
  state.container = null;
  state.anchor = NO_ANCHOR;
  if (view === undefined) return;
  const { view: before } = state;
  state.view = view.flatMap((part) =>
    part.type === 'kept' ? before.slice(part.from, part.from + part.count) : [part.message],
  );
  forgetReads(state, before, view);
  state.slots.clear();
  state.compactedTo = null;
}

/** The view is put together anew: what is kept of it keeps its identity, and with it what is known of each message. */
export function compacted(state: SessionState, event: EventOf<'compacted'>): void {
  const { view: before } = state;
  state.view = event.view.flatMap((part) =>
    part.type === 'kept' ? before.slice(part.from, part.from + part.count) : [part.message],
  );
  forgetReads(state, before, event.view);
  state.anchor = { count: state.view.length, tokens: event.tokensAfter };
  // It may be gone from the view: it is said again.
  state.slots.clear();
  state.compactedTo = event.tokensAfter;
  const turn = settle(state, event);
  if (!turn) return;
  turn.compacted = true;
  if (event.trigger !== 'overflow') return;
  turn.overflowed = true;
  // The request that was too long is made again.
  if (turn.failure) turn.failure = { ...turn.failure, retry: { at: event.at, modelIndex: turn.modelIndex } };
}

export function compactionFailed(state: SessionState, event: EventOf<'compaction_failed'>): void {
  const turn = settle(state, event);
  if (turn) turn.compacted = true;
  // A run goes on without what somebody merely wished for.
  if (state.run && event.reason === 'no_progress' && event.trigger !== 'manual') state.run.tooLong = event.message;
}

/** What both have in common: the input is used up, and the model's work is paid for. Returns the turn it was in. */
function settle(
  state: SessionState,
  event: EventOf<'compacted'> | EventOf<'compaction_failed'>,
): RunState['turn'] | undefined {
  if (event.inputSeq !== undefined) state.inbox = state.inbox.filter(({ seq }) => seq !== event.inputSeq);
  const { run } = state;
  if (run === null || run.runId !== event.runId) return undefined;
  if (event.usage) spend(run, event.usage, event.cost ?? null);
  return run.turn;
}
