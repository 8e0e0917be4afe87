// What recordings of the Responses API say differently from those of other wires.

import type { ModelBlock, ModelToolCall } from '@treadle/core/model';

/** Where a response begins in a recording: its event's name, when it has one, and its data. */
const RESPONSE_BEGINS = /^(?:event: ?response\.created\r?\n)?data: ?\{(?=[^\n]*"type": ?"response\.created")/gm;

/** The responses in a recording: a conversation may be recorded into one file, a response after the other. */
export function responsesIn(bytes: Uint8Array): Uint8Array[] {
  // Latin-1 has one character per byte, so that places in the text are places in the bytes.
  const text = Buffer.from(bytes).toString('latin1');
  const starts = [...text.matchAll(RESPONSE_BEGINS)].map((match) => match.index).slice(1);
  return [0, ...starts].map((start, at) => bytes.subarray(start, starts[at]));
}

/** An item the provider executed, as recordings name it. */
export function recordedItem(block: ModelBlock): { type: unknown; id: unknown } | undefined {
  return 'raw' in block ? { type: block.raw['type'], id: block.raw['id'] } : undefined;
}

/** The arguments of a call as recordings have them: the text itself, where the tool takes text. */
export function recordedArguments(call: ModelToolCall): string {
  const item = call.opaque?.['item'] as { type?: unknown } | undefined;
  if (item?.type !== 'custom_tool_call') return call.argumentsText;
  return (JSON.parse(call.argumentsText) as { input: string }).input;
}

/** Recordings have the response's status; a stream ends with what is behind it: the reason, or an error. */
export function sameEnding(expected: string | null, finish: string | null, failed: boolean): boolean {
  if (expected === finish) return true;
  return expected === 'failed' ? failed : expected === 'incomplete' && finish !== null && finish !== 'completed';
}
