import type { Message } from '../../messages/message.ts';

/** The slots, in the order of their messages. */
export const SLOTS = ['planning', 'retrieved'] as const;

export type Slot = (typeof SLOTS)[number];

const ID = /\.slot\.(planning|retrieved)\.\d+$/;

/** The slot a message fills; null for other messages. */
export function slotOf(message: Message): Slot | null {
  if (message.role !== 'user' || message.origin !== 'reminder') return null;
  const [, slot] = ID.exec(message.id) ?? [];
  return slot === 'planning' || slot === 'retrieved' ? slot : null;
}
