import type { Fold } from '../../kernel/fold.ts';

/** What an application adds of its own stands at the end of the view. A client replaces the state as a whole; a tool sets keys of it, so calls that run side by side keep each other's. */
export const sharedStateFold: Fold = {
  after(state, event) {
    const input = event.type === 'input_received' ? event.input : null;
    if (input?.type === 'set_state') state.shared = input.state;
    else if (input?.type === 'extension') state.view.push(input.message);
    else if (event.type === 'tool_ended' && event.state) state.shared = { ...state.shared, ...event.state };
  },
};
