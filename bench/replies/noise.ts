// What real services put into every event besides what the model said: padding, so that its length tells nothing, and the
// time. It differs from one event to the next, so none of them may be taken for a repetition of the one before.

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP0123456789';

/** Padding of 1 to 16 characters, always the same at the same place. */
export function padding(index: number): string {
  const start = (index * 7) % (LETTERS.length - 16);
  return LETTERS.slice(start, start + 1 + ((index * 13) % 16));
}

/** A time of day with nanoseconds, later at every place. */
export function timeAt(index: number): string {
  const second = String(Math.floor(index / 50) % 60).padStart(2, '0');
  const fraction = String((index % 50) * 20_000_000 + 1_234_567).padStart(9, '0');
  return `2026-05-04T10:00:${second}.${fraction}Z`;
}
