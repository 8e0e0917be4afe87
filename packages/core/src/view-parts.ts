import type { ViewPart } from './events/context-events.ts';
import type { Message } from './messages/message.ts';

/** A new view in terms of the old one, so that the log needn't repeat what stays. */
export function viewParts(before: readonly Message[], after: readonly Message[]): ViewPart[] {
  const places = new Map(before.map((message, index) => [message, index]));
  const parts: ViewPart[] = [];
  let run: { type: 'kept'; from: number; count: number } | null = null;
  for (const message of after) {
    const place = places.get(message);
    if (place === undefined) {
      parts.push({ type: 'message', message });
      run = null;
    } else if (run !== null && run.from + run.count === place) run.count += 1;
    else parts.push((run = { type: 'kept', from: place, count: 1 }));
  }
  return parts;
}

/** The view that parts of the one before come to. What is kept keeps its identity. */
export const viewOfParts = (before: readonly Message[], parts: readonly ViewPart[]): Message[] =>
  parts.flatMap((part) => (part.type === 'kept' ? before.slice(part.from, part.from + part.count) : [part.message]));
