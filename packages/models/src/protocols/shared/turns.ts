import type { CacheHints } from '@treadle/core';

/** Which parts of a request are marked for the provider's prompt cache. Providers take four marks in all. */
export interface CacheMarks {
  readonly tools: boolean;
  readonly system: boolean;
  /**
   * The messages whose last block is marked. `latest`: the last two of the user's side. The later one is what the next
   * call will read; the earlier one is what the call before wrote, marked again because a provider looks for it only a
   * score of blocks back on its own, and a turn may have more.
   */
  readonly messages: 'none' | 'latest' | 'second_to_last';
  readonly ttl?: '1h';
}

const NO_MARKS: CacheMarks = { tools: false, system: false, messages: 'none' };
const ALL_MARKS: CacheMarks = { tools: true, system: true, messages: 'latest' };

/** The marks that hints ask for. */
export function cacheMarks(hints: CacheHints = 'auto'): CacheMarks {
  if (hints === 'auto') return ALL_MARKS;
  if (hints === 'off') return NO_MARKS;
  const { tools = false, system = false, messages = false, ttl } = hints;
  const lasts = ttl === '1h' ? ({ ttl } as const) : {};
  if (ttl !== undefined && hints.tools === undefined && hints.system === undefined && hints.messages === undefined)
    return { ...ALL_MARKS, ...lasts };
  return { tools, system, messages: messages ? 'second_to_last' : 'none', ...lasts };
}

/** Messages at the end that may still change: the two latest of the user's side are among them. */
const OPEN_TURNS = 5;

interface Turn {
  readonly role: string;
  /** JSON of one or more blocks each. */
  readonly parts: readonly string[];
  /** The index of the last part whose end may carry a cache mark; -1 for none. */
  readonly markable: number;
}

/**
 * The messages of a wire whose roles alternate: neighbours of one role are one message.
 *
 * @param field The field of a message that has its blocks.
 * @param opening A block that stands in for the user when a conversation begins with the assistant.
 */
export function createTurns(field: string, opening: string) {
  /** The messages that don't change any more, each with a comma after it. */
  let settled = '';
  const turns: Turn[] = [];

  const written = ({ role, parts }: Turn): string => `{"role":"${role}","${field}":[${parts.join(',')}]}`;

  const added = (to: Turn[], role: string, json: string, markable: boolean): void => {
    const open = to.at(-1)?.role === role ? to.pop() : undefined;
    const parts = [...(open?.parts ?? []), json];
    to.push({ role, parts, markable: markable ? parts.length - 1 : (open?.markable ?? -1) });
  };

  const withMarks = (marks: CacheMarks['messages'], marked: (json: string) => string): Turn[] => {
    const candidates = marks === 'latest' ? turns.filter(({ role }) => role === 'user') : turns.slice(0, -1);
    const count = { none: 0, latest: 2, second_to_last: 1 }[marks];
    const chosen = count === 0 ? [] : candidates.filter(({ markable }) => markable >= 0).slice(-count);
    return turns.map((turn) => {
      const { parts, markable } = turn;
      return chosen.includes(turn) ? { ...turn, parts: parts.with(markable, marked(parts[markable] ?? '')) } : turn;
    });
  };

  return {
    /** Adds blocks, unless their JSON is empty. */
    add(role: string, json: string, markable = true): void {
      if (json === '') return;
      if (turns.length === 0 && role !== 'user') added(turns, 'user', opening, true);
      added(turns, role, json, markable);
      const oldest = turns.length > OPEN_TURNS ? turns.shift() : undefined;
      if (oldest !== undefined) settled += `${written(oldest)},`;
    },
    /** Whose the last message is. */
    role: (): string | undefined => turns.at(-1)?.role,
    /** The array of messages with marks, and with `note` as the user's last block. */
    json(marks: CacheMarks['messages'] = 'none', marked: (json: string) => string = (json) => json, note = ''): string {
      const shown = withMarks(marks, marked);
      if (note !== '') added(shown, 'user', note, false);
      return `[${settled}${shown.map(written).join(',')}]`;
    },
  };
}
