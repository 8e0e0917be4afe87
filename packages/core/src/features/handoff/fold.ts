import { viewOfParts } from '../../view-parts.ts';
import type { EventOf, Fold } from '../../kernel/fold.ts';
import type { SessionState } from '../../kernel/state.ts';
import { NO_ANCHOR } from '../../messages/anchor.ts';

export const handoffFold: Fold = {
  after(state, event) {
    if (event.type === 'run_ended' && event.handoff) handOver(state, event.handoff);
  },
};

/** Another agent drives from here on, and sees what it is to be shown. */
function handOver(state: SessionState, { agentId, view }: NonNullable<EventOf<'run_ended'>['handoff']>): void {
  state.drivenBy = agentId;
  state.container = null;
  state.anchor = NO_ANCHOR;
  if (view === undefined) return;
  state.view = viewOfParts(state.view, view);
  state.slots.clear();
  state.compactedTo = null;
}
