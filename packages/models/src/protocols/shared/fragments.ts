import type { ModelMessage } from '@treadle/core';

/** Writes a message, or finds what it was written as. `key` is whatever else its JSON depends on. */
export type Fragments = (message: ModelMessage, key: string, write: () => string) => string;

/** Keeps the JSON of each message, so that a request writes only what is new in it. Forgotten with the message. */
export function createFragments(): Fragments {
  const kept = new WeakMap<ModelMessage, { readonly key: string; readonly json: string }>();
  return (message, key, write) => {
    const found = kept.get(message);
    if (found?.key === key) return found.json;
    const json = write();
    kept.set(message, { key, json });
    return json;
  };
}

/** Text made from a text that rarely changes, such as the system prompt. It is made again when that changes. */
export function createLatest(write: (text: string) => string): (text: string) => string {
  let latest: { readonly text: string; readonly written: string } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, written: write(text) };
    return latest.written;
  };
}

/** What is made of values that keep their identity between requests, such as a list of tools, made once per value. */
export function createOnce<Value extends object, Made>(make: (value: Value) => Made): (value: Value) => Made {
  const kept = new WeakMap<Value, { readonly made: Made }>();
  return (value) => {
    let entry = kept.get(value);
    if (entry === undefined) kept.set(value, (entry = { made: make(value) }));
    return entry.made;
  };
}
