import type { DurableEvent } from '../../events/events.ts';
import { factsAfter } from '../../journal/session-facts.ts';
import type { SessionState } from '../../kernel/state.ts';

/** The rules of lists: what nobody gave replaces no title, and a fork begins without one. */
export function entitle(
  state: SessionState,
  event: Extract<DurableEvent, { type: 'session_created' | 'input_received' }>,
): void {
  state.title = factsAfter(state.title === null ? {} : { title: state.title }, event).title ?? null;
}
