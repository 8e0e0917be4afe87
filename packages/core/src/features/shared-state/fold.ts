import type { Fold } from '../../kernel/fold.ts';

/** A client replaces the state as a whole; a tool sets keys of it, so calls that run side by side keep each other's. */
export const sharedStateFold: Fold = {
  after(state, event) {
    if (event.type === 'input_received' && event.input.type === 'set_state') state.shared = event.input.state;
    else if (event.type === 'tool_ended' && event.state) state.shared = { ...state.shared, ...event.state };
  },
};
