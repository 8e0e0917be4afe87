import type { Fold } from '../../kernel/fold.ts';
import { factsAfter } from '../../journal/session-facts.ts';

/** The rules of lists: what nobody gave replaces no title, and a fork begins without one. */
export const titlesFold: Fold = {
  after(state, event) {
    if (event.type === 'run_ended') state.completed ||= event.status === 'completed';
    const isAbout =
      event.type === 'session_created' || (event.type === 'input_received' && event.input.type === 'rename');
    if (isAbout) state.title = factsAfter(state.title === null ? {} : { title: state.title }, event).title ?? null;
  },
};
