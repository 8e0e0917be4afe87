import type { Fold } from '../../kernel/fold.ts';
import type { Message } from '../../messages/message.ts';
import { type Slot, slotOf } from './slots.ts';

export const turnContextFold: Fold = {
  after(state, event) {
    if (event.type === 'message_added') noteSlot(state.slots, event.message);
  },
};

/** Notes what a slot says now, so that it isn't said twice. */
function noteSlot(slots: Map<Slot, string>, message: Message): void {
  const slot = slotOf(message);
  const block = slot === null || message.role !== 'user' ? undefined : message.content[0];
  if (slot !== null && block?.type === 'text') slots.set(slot, block.text);
}
