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

/** Messages at the beginning of a conversation whose JSON isn't kept by itself. */
const FEW_MESSAGES = 32;

const isPrefix = (seen: readonly ModelMessage[], messages: readonly ModelMessage[]): boolean => {
  if (seen.length > messages.length) return false;
  // From the end: branches of one conversation differ late.
  for (let at = seen.length - 1; at >= 0; at--) if (seen[at] !== messages[at]) return false;
  return true;
};

/** Writes a message, or finds what it was written as. `key` is whatever else its JSON depends on. */
export type Fragment = (message: ModelMessage, key: string, write: () => string) => string;

/**
 * Keeps the writer of each conversation, so that a request which only adds messages to the one before it is written by
 * adding them. A conversation is recognised by its message objects and forgotten with the first of them.
 *
 * The JSON of each message is kept for conversations that can't be continued as they were: branches, and views that a
 * compaction changed. Not that of a conversation's first few messages: most have no more, and to write those once again
 * costs less than to keep them all.
 */
export function createTranscripts<Writer extends TranscriptWriter>(
  create: (fragment: Fragment) => Writer,
): (messages: readonly ModelMessage[]) => Writer {
  const kept = new WeakMap<ModelMessage, Kept<Writer>[]>();
  const fragment = createFragments();
  return (messages) => {
    const first = messages[0];
    if (first === undefined) return create((_message, _key, write) => write());
    let branches = kept.get(first);
    if (branches === undefined) kept.set(first, (branches = []));
    let best: Kept<Writer> | undefined;
    for (const branch of branches) {
      if (branch.seen.length > (best?.seen.length ?? 0) && isPrefix(branch.seen, messages)) best = branch;
    }
    if (best === undefined) {
      const seen: ModelMessage[] = [];
      const isFirst = branches.length === 0;
      const writer = create((message, key, write) =>
        fragment(message, key, write, !isFirst || seen.length >= FEW_MESSAGES),
      );
      best = { writer, seen };
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

/** Finds the JSON of a message by its object, or writes it, and keeps it where that is asked for. */
function createFragments(): (...given: [...Parameters<Fragment>, keep: boolean]) => string {
  const kept = new WeakMap<ModelMessage, { readonly key: string; readonly json: string }>();
  return (message, key, write, keep) => {
    const found = kept.get(message);
    if (found !== undefined && found.key === key) return found.json;
    const json = write();
    if (keep) kept.set(message, { key, json });
    return json;
  };
}

/** JSON of a text that is the same in most requests, such as the system prompt, made again when it changes. */
export function createLatest<Json extends string | undefined>(write: (text: string) => Json): (text: string) => Json {
  let latest: { readonly text: string; readonly json: Json } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, json: write(text) };
    return latest.json;
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
