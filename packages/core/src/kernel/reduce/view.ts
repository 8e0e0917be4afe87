import { needsBlob } from '../../events/move-out.ts';
import { NO_ANCHOR } from '../../messages/measure.ts';
import type { Message } from '../../messages/message.ts';
import type { SessionState } from '../state.ts';

/** A message joins the view. */
export function addToView(state: SessionState, message: Message): void {
  state.view.push(message);
  if (needsBlob(message)) state.needsBlobs = true;
}

/** A new conversation takes the place of the old one: nothing that was known of that one holds. */
export function replaceView(state: SessionState, messages: readonly Message[]): void {
  state.view = [...messages];
  if (messages.some(needsBlob)) state.needsBlobs = true;
  state.container = null;
  state.anchor = NO_ANCHOR;
  state.slots.clear();
  state.reads.clear();
  state.compactedTo = null;
}
