import type { JsonValue } from '@treadle/core';
import { asObject } from '../shared/json-text.ts';

/** A step of a path: a key of an object or an index of an array. */
type Step = string | number;

type Container = Record<string, unknown> | unknown[];

const DEEPEST = 100;

const STEP = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

const unescaped = (text: string): string => text.replace(/\\(.)/g, '$1');

/** The steps of a path such as `$.items[0]['a key']`, or undefined. */
export function jsonPathSteps(path: string): readonly Step[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const steps: Step[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (found === null || steps.length === DEEPEST) return undefined;
    const [, name, index, single, double] = found;
    steps.push(name ?? (index === undefined ? unescaped(single ?? double ?? '') : Number(index)));
  }
  return steps;
}

// Without a prototype: a key of the model's may be called anything.
const emptyContainer = (step: Step): Container =>
  typeof step === 'number' ? [] : (Object.create(null) as Record<string, unknown>);

const has = (container: Container, step: Step): boolean =>
  Array.isArray(container) ? Number(step) < container.length : step in container;

const get = (container: Container, step: Step): unknown => (container as Record<Step, unknown>)[step];

/** False when the step doesn't fit the container, or would leave a hole in an array. */
const put = (container: Container, step: Step, value: unknown): boolean => {
  if (Array.isArray(container) !== (typeof step === 'number')) return false;
  if (Array.isArray(container) && Number(step) > container.length) return false;
  (container as Record<Step, unknown>)[step] = value;
  return true;
};

/** Whether this is a container made here: what came whole is not gone into. */
const isOwn = (value: unknown): value is Container =>
  Array.isArray(value) || (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null);

/** The value of one entry, or undefined when it has none. */
const valueOf = (entry: Readonly<Record<string, unknown>>): JsonValue | undefined => {
  const { stringValue, numberValue, boolValue } = entry;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof numberValue === 'number') return numberValue;
  if (typeof boolValue === 'boolean') return boolValue;
  return 'nullValue' in entry ? null : undefined;
};

/**
 * Writes values as one JSON text as long as each is new and comes after those before it, as a model writes them. A value
 * that comes out of order ends the text; the tree of values knows it still.
 */
const createTextWriter = () => {
  let text = '';
  let inString = false;
  /** The containers that are open, from the root inwards: the step to each, and whether anything is in it. */
  const open: { readonly step: Step; readonly array: boolean; filled: boolean }[] = [
    { step: '', array: false, filled: false },
  ];

  const member = (step: Step): string => {
    const inner = open.at(-1);
    const comma = inner?.filled === true ? ',' : '';
    if (inner !== undefined) inner.filled = true;
    return typeof step === 'number' ? comma : `${comma}${JSON.stringify(step)}:`;
  };

  const closers = (depth: number): string => {
    let json = inString ? '"' : '';
    for (let at = open.length - 1; at >= depth; at--) json += open[at]?.array === true ? ']' : '}';
    return json;
  };

  const closeTo = (depth: number): string => {
    const json = closers(depth);
    open.length = depth;
    inString = false;
    return json;
  };

  /** How many containers on the way to a value are open, besides the root. */
  const shared = (steps: readonly Step[]): number => {
    let count = 0;
    while (count < steps.length - 1 && open[count + 1]?.step === steps[count]) count++;
    return count;
  };

  return {
    shared,
    /** Adds a value at a place that is new. */
    value(steps: readonly Step[], value: JsonValue, continues: boolean): string {
      let json = (text === '' ? '{' : '') + closeTo(shared(steps) + 1);
      for (let at = open.length - 1; at < steps.length - 1; at++) {
        const step = steps[at] ?? '';
        const array = typeof steps[at + 1] === 'number';
        json += member(step) + (array ? '[' : '{');
        open.push({ step, array, filled: false });
      }
      json += member(steps.at(-1) ?? '') + JSON.stringify(value);
      inString = continues;
      if (continues) json = json.slice(0, -1);
      text += json;
      return json;
    },
    more(piece: string): string {
      const json = JSON.stringify(piece).slice(1, -1);
      text += json;
      return json;
    },
    endString(): string {
      inString = false;
      text += '"';
      return '"';
    },
    closers: () => (text === '' ? '{}' : closers(0)),
    whole: () => text,
  };
};

/** Collects arguments by their paths. Work per value is that of its path, whatever came before. */
export function createPartialArguments() {
  const root = emptyContainer('');
  const writer = createTextWriter();
  let inOrder = true;
  let broken = false;
  /** The string that is in the middle. */
  let last: { readonly path: string; readonly holder: Container; readonly step: Step } | undefined;

  /** Puts a value at its place; undefined when that can't be. `known` of the containers on the way were there before. */
  const place = (
    steps: readonly Step[],
    value: JsonValue,
  ): { readonly holder: Container; readonly known: number; readonly isNew: boolean } | undefined => {
    let holder: Container = root;
    let known = 0;
    for (const [at, step] of steps.entries()) {
      const there = has(holder, step);
      if (at === steps.length - 1) return put(holder, step, value) ? { holder, known, isNew: !there } : undefined;
      const inner = there ? get(holder, step) : emptyContainer(steps[at + 1] ?? '');
      if (there) known++;
      else if (!put(holder, step, inner)) return undefined;
      if (!isOwn(inner)) return undefined;
      holder = inner;
    }
    return undefined;
  };

  const set = (path: string, steps: readonly Step[], value: JsonValue, continues: boolean): string => {
    const placed = place(steps, value);
    last = undefined;
    if (placed === undefined) {
      broken = true;
      return '';
    }
    // A container that was there and isn't open any more: the text can't go back into it.
    inOrder &&= placed.isNew && placed.known === writer.shared(steps);
    const json = inOrder ? writer.value(steps, value, continues) : '';
    if (continues) last = { path, holder: placed.holder, step: steps.at(-1) ?? '' };
    return json;
  };

  const addOne = (entry: Readonly<Record<string, unknown>>): string => {
    const path = typeof entry['jsonPath'] === 'string' ? entry['jsonPath'] : '';
    const value = valueOf(entry);
    const continues = entry['willContinue'] === true && (value === undefined || typeof value === 'string');
    if (last !== undefined && last.path === path && (value === undefined || typeof value === 'string')) {
      const { holder, step } = last;
      put(holder, step, `${String(get(holder, step))}${value ?? ''}`);
      const more = inOrder ? writer.more(value ?? '') : '';
      if (continues) return more;
      last = undefined;
      return inOrder ? more + writer.endString() : '';
    }
    if (value === undefined) return '';
    const steps = jsonPathSteps(path);
    if (steps !== undefined) return set(path, steps, value, continues);
    broken = true;
    return '';
  };

  return {
    /** Takes the `partialArgs` of one part; returns the JSON text they add, as far as it can be told yet. */
    add(entries: unknown): string {
      if (!Array.isArray(entries)) return '';
      let json = '';
      for (const entry of entries as readonly unknown[]) {
        const fields = asObject(entry);
        if (fields !== undefined && !broken) json += addOne(fields);
      }
      return json;
    },
    /** Takes arguments that came whole. */
    assign(args: Readonly<Record<string, unknown>>): string {
      let json = '';
      for (const [name, value] of Object.entries(args)) if (!broken) json += set('', [name], value as JsonValue, false);
      return json;
    },
    /** The call's end was said: a string in the middle is whole. */
    endString(): void {
      last = undefined;
    },
    /** What closes the text shown so far, and the whole of it. */
    close(): { readonly rest: string; readonly text: string } {
      if (!inOrder) return { rest: '', text: JSON.stringify(root) };
      const rest = writer.closers();
      return { rest, text: writer.whole() + rest };
    },
    /** All text so far, which is not closed and so is no JSON. */
    unclosed: (): string => (writer.whole() === '' ? '{' : writer.whole()),
    /** Whether a string is in the middle, or what came makes no sense. */
    isIncomplete: (): boolean => broken || last !== undefined,
  };
}

/** Arguments of a call that arrive value by value, each with its path. */
export type PartialArguments = ReturnType<typeof createPartialArguments>;
