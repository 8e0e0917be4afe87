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
}

const NO_MARKS: CacheMarks = { tools: false, system: false, messages: 'none' };
const ALL_MARKS: CacheMarks = { tools: true, system: true, messages: 'latest' };

/** The marks that hints ask for. */
export function cacheMarks(hints: CacheHints = 'auto'): CacheMarks {
  if (hints === 'auto') return ALL_MARKS;
  if (hints === 'off') return NO_MARKS;
  const { tools = false, system = false, messages = false } = hints;
  return { tools, system, messages: messages ? 'second_to_last' : 'none' };
}

interface Turn<Role> {
  readonly role: Role;
  /** JSON of one or more blocks each. */
  readonly parts: string[];
  /** The index of the last part whose end may carry a cache mark; -1 for none. */
  markable: number;
}

/** The messages of a wire whose roles alternate: neighbours of one role are one message. */
export interface Turns<Role> {
  readonly role: Role | undefined;
  /** Adds blocks, unless their JSON is empty. */
  add(role: Role, json: string, markable?: boolean): void;
  /** Marks the ends of messages. */
  mark(marks: CacheMarks['messages'], marked: (json: string) => string): void;
  /** The array of messages. */
  json(): string;
}

/**
 * @param field The field of a message that has its blocks.
 * @param opening A block that stands in for the user when a conversation begins with the assistant.
 */
export function createTurns<Role extends string = 'assistant'>(field: string, opening: string): Turns<Role | 'user'> {
  const turns: Turn<Role | 'user'>[] = [];
  const add = (role: Role | 'user', json: string, markable = true): void => {
    if (json === '') return;
    if (turns.length === 0 && role !== 'user') add('user', opening);
    let turn = turns.at(-1);
    if (turn?.role !== role) turns.push((turn = { role, parts: [], markable: -1 }));
    turn.parts.push(json);
    if (markable) turn.markable = turn.parts.length - 1;
  };
  return {
    add,
    get role() {
      return turns.at(-1)?.role;
    },
    mark(marks, marked) {
      const candidates = marks === 'latest' ? turns.filter(({ role }) => role === 'user') : turns.slice(0, -1);
      const count = { none: 0, latest: 2, second_to_last: 1 }[marks];
      const chosen = candidates.filter((turn) => turn.markable >= 0).slice(-count);
      for (const { parts, markable } of count === 0 ? [] : chosen) parts[markable] = marked(parts[markable] ?? '');
    },
    json: () => `[${turns.map(({ role, parts }) => `{"role":"${role}","${field}":[${parts.join(',')}]}`).join(',')}]`,
  };
}
