/** Different types that are told apart. A stream that goes on inventing new ones must not fill the log. */
const MOST_TYPES = 20;
const LONGEST_TYPE = 100;
const OTHERS = '(others)';

/** Counts what a decoder doesn't know: events it passes over, parts that it keeps as they are. */
export function createUnknownTypes() {
  const counts = new Map<string, number>();
  return {
    add(type: string): void {
      const short = type.slice(0, LONGEST_TYPE);
      const key = counts.has(short) || counts.size < MOST_TYPES ? short : OTHERS;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    /** How often each type came; undefined when none did. */
    counts: (): Readonly<Record<string, number>> | undefined =>
      counts.size === 0 ? undefined : Object.fromEntries(counts),
  };
}
