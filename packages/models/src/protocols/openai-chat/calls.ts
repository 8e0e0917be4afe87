import type { JsonValue } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { asObject, asText, parseObject } from '../shared/json-text.ts';
import type { DecoderSink } from '../shared/protocol.ts';
import { createBlockText, type TextRun } from '../shared/text-run.ts';

interface OpenCall {
  readonly index: number;
  readonly wireIndex: number | undefined;
  id: string;
  name: string;
  /** Arguments received before the name was known. */
  early: string;
  readonly run: TextRun;
  opaque: Record<string, JsonValue> | undefined;
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function']);

/** Two complete calls may come without anything that tells them apart but this: the first one's JSON is whole. */
const isWholeObject = (text: string): boolean => text.trimEnd().endsWith('}') && parseObject(text) !== undefined;

/**
 * The calls of one response so far. They are put together from their parts, for all the ways servers number them: by index
 * from 0 or from 1, without an index, with index 0 for every call (told apart by id), with the id in the first part only or
 * in each, with the name repeated in each.
 */
export interface Calls {
  readonly sink: DecoderSink;
  readonly calls: OpenCall[];
  /** Where the next block of the message goes. */
  nextIndex: number;
}

const startsAnother = (call: OpenCall, id: string, name: string, args: string): boolean => {
  if (id !== '') return call.id !== '' && call.id !== id;
  // Without an id, a new name after a complete call is a new call; the same name may just be repeated.
  if (name === '' || call.name === '') return false;
  return name !== call.name || (args.trimStart().startsWith('{') && isWholeObject(call.early + call.run.whole()));
};

const find = (
  { calls }: Calls,
  wireIndex: number | undefined,
  id: string,
  name: string,
  args: string,
): OpenCall | undefined => {
  for (let at = calls.length - 1; at >= 0; at--) {
    const call = calls[at];
    if (call === undefined) continue;
    if (wireIndex === undefined) {
      // No index: the id decides, and without an id it is the latest call.
      if (id === '') return startsAnother(call, id, name, args) ? undefined : call;
      if (call.id === id) return call;
    } else if (call.wireIndex === wireIndex && !startsAnother(call, id, name, args)) return call;
    else if (call.wireIndex === wireIndex && id === '') return undefined;
  }
  return undefined;
};

const announce = (sink: DecoderSink, call: OpenCall): void => {
  sink.event({ type: 'tool_call_start', index: call.index, providerCallId: call.id, name: call.name });
  call.run.add(call.early);
  call.early = '';
};

/** Adds one element of `delta.tool_calls`. */
export const addCallPart = (response: Calls, element: unknown): void => {
  const part = asObject(element);
  if (part === undefined) return;
  const fn = asObject(part['function']);
  const id = asText(part['id']) ?? '';
  const name = asText(fn?.['name']) ?? '';
  const given = fn?.['arguments'];
  // Some servers send the arguments as an object instead of its text.
  const args = typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given);
  const wireIndex = typeof part['index'] === 'number' ? part['index'] : undefined;
  let call = find(response, wireIndex, id, name, args);
  if (call === undefined) {
    if (id === '' && name === '' && args === '') return;
    const index = response.nextIndex++;
    const run = createBlockText(response.sink, 'tool_arguments_delta', index);
    call = { index, wireIndex, id, name: '', early: '', run, opaque: undefined };
    response.calls.push(call);
  }
  for (const key in part) {
    if (!KNOWN_FIELDS.has(key)) (call.opaque ??= {})[key] = part[key] as JsonValue;
  }
  if (call.name !== '') return call.run.add(args);
  if (call.id === '') call.id = id;
  call.early += args;
  if (name === '') return;
  call.name = name;
  announce(response.sink, call);
};

const endCall = (sink: DecoderSink, call: OpenCall): void => {
  if (call.name === '') announce(sink, call);
  const { index, id: providerCallId, name, run, opaque } = call;
  const block = { type: 'tool_call', providerCallId, name, argumentsText: run.end(), ...defined({ opaque }) } as const;
  sink.event({ type: 'block_end', index, block });
};

/** Finishes every call, in the order they began. */
export function endCalls({ sink, calls }: Calls): void {
  for (const call of calls) endCall(sink, call);
}
