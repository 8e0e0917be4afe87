import type { Message } from '../../messages/message.ts';
import { type Slot, slotOf } from './turn-context.ts';

/** Notes what a slot says now, so that it isn't said twice. */
export function noteSlot(slots: Map<Slot, string>, message: Message): void {
  const slot = slotOf(message);
  const block = slot === null || message.role !== 'user' ? undefined : message.content[0];
  if (slot !== null && block?.type === 'text') slots.set(slot, block.text);
}
