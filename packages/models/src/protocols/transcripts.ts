import type { ModelMessage } from '@treadle/core';
import type { Piece } from './growing-text.ts';

/** Writes messages as a wire wants them, one after another, into bytes that only grow. */
export interface TranscriptWriter {
  append(message: ModelMessage): void;
  /** The JSON elements of the `messages` array so far, complete; the writer itself stays open for more. */
  pieces(): readonly Piece[];
}

interface Kept<Writer> {
  readonly writer: Writer;
  readonly seen: ModelMessage[];
}

/** Parallel branches of one conversation share its first message; each keeps a writer, the latest few of them. */
const KEPT_BRANCHES = 8;

const isPrefix = (seen: readonly ModelMessage[], messages: readonly ModelMessage[]): boolean => {
  if (seen.length > messages.length) return false;
  // From the end: branches of one conversation differ late.
  for (let at = seen.length - 1; at >= 0; at--) if (seen[at] !== messages[at]) return false;
  return true;
};

/**
 * Keeps the writer of each conversation, so that a request which only adds messages to the one before it is written by
 * adding them. A conversation is recognised by its message objects and forgotten with the first of them.
 */
export function createTranscripts<Writer extends TranscriptWriter>(
  create: () => Writer,
): (messages: readonly ModelMessage[]) => Writer {
  const kept = new WeakMap<ModelMessage, Kept<Writer>[]>();
  return (messages) => {
    const first = messages[0];
    if (first === undefined) return create();
    let branches = kept.get(first);
    if (branches === undefined) kept.set(first, (branches = []));
    let best: Kept<Writer> | undefined;
    for (const branch of branches) {
      if (branch.seen.length > (best?.seen.length ?? 0) && isPrefix(branch.seen, messages)) best = branch;
    }
    if (best === undefined) {
      best = { writer: create(), seen: [] };
      branches.push(best);
      if (branches.length > KEPT_BRANCHES) branches.shift();
    }
    for (let at = best.seen.length; at < messages.length; at++) {
      const message = messages[at];
      if (message === undefined) break;
      best.writer.append(message);
      best.seen.push(message);
    }
    return best.writer;
  };
}

/**
 * Keeps the JSON of each message by the message object, for conversations that can't be continued as they were:
 * branches, and views that a compaction changed. `key` is whatever else the JSON depends on.
 */
export function createFragments(): (message: ModelMessage, key: string, write: () => string) => string {
  const kept = new WeakMap<ModelMessage, { readonly key: string; readonly json: string }>();
  return (message, key, write) => {
    const found = kept.get(message);
    if (found !== undefined && found.key === key) return found.json;
    const json = write();
    kept.set(message, { key, json });
    return json;
  };
}

/** JSON of values that keep their identity between requests, such as a list of tools, made once per value. */
export function createOnce<Value extends object, Json extends string | undefined>(
  write: (value: Value) => Json,
): (value: Value) => Json {
  const kept = new WeakMap<Value, { readonly json: Json }>();
  return (value) => {
    let entry = kept.get(value);
    if (entry === undefined) kept.set(value, (entry = { json: write(value) }));
    return entry.json;
  };
}
