import type { DurableEventBody } from '../events/events.ts';

type Moment<Args extends readonly unknown[], Said> = readonly ((...args: Args) => Said)[];

/** What the first member of a moment says that has something to say; null when none has. */
export function first<Args extends readonly unknown[], Said>(
  moment: Moment<Args, Said | null>,
  ...args: Args
): Said | null {
  for (const member of moment) {
    const said = member(...args);
    if (said !== null) return said;
  }
  return null;
}

/** What all members of a moment add, in their order. */
export function gather<Args extends readonly unknown[]>(
  moment: Moment<Args, readonly DurableEventBody[]>,
  ...args: Args
): DurableEventBody[] {
  const events: DurableEventBody[] = [];
  for (const member of moment) for (const event of member(...args)) events.push(event);
  return events;
}
