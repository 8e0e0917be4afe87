/** Counts what a decoder doesn't know: events it passes over, parts that it keeps as they are. */
export interface UnknownTypes {
  add(type: string): void;
  /** How often each type came; undefined when none did. */
  counts(): Readonly<Record<string, number>> | undefined;
}

/** Different types that are told apart. A stream that goes on inventing new ones must not fill the log. */
const MOST_TYPES = 20;
const LONGEST_TYPE = 100;
const OTHERS = '(others)';

export function createUnknownTypes(): UnknownTypes {
  const counts = new Map<string, number>();
  return {
    add(type) {
      const short = type.slice(0, LONGEST_TYPE);
      const key = counts.has(short) || counts.size < MOST_TYPES ? short : OTHERS;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    counts: () => (counts.size === 0 ? undefined : Object.fromEntries(counts)),
  };
}
