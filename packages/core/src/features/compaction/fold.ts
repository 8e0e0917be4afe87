import { viewOfParts } from '../../view-parts.ts';
import type { RunState, SessionState } from '../../kernel/state.ts';
import type { EventOf, Fold } from '../../kernel/fold.ts';
import { spend } from '../../kernel/reduce/view.ts';

export const compactionFold: Fold = {
  after(state, event) {
    if (event.type === 'compacted') compacted(state, event);
    else if (event.type === 'compaction_failed') compactionFailed(state, event);
  },
};

/** The view is put together anew: what is kept of it keeps its identity, and with it what is known of each message. */
function compacted(state: SessionState, event: EventOf<'compacted'>): void {
  state.view = viewOfParts(state.view, event.view);
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

function compactionFailed(state: SessionState, event: EventOf<'compaction_failed'>): void {
  const turn = settle(state, event);
  if (turn) turn.compacted = true;
  // A run goes on without what somebody merely wished for.
  if (state.run && event.reason === 'nothing_to_remove' && event.trigger !== 'manual')
    state.run.tooLong = event.message;
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
