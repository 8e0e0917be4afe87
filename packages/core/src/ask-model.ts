import { errorText } from './errors.ts';
import { sizedStream } from './kernel/services/reply-size.ts';
import type { Model, ModelError, ModelRequest } from './model/model.ts';
import { type StopReason, UNKNOWN_USAGE, type Usage } from './model/usage.ts';

/** What a call has used so far: null before it began, unknown until its model says. */
export interface Meter {
  usage: Usage | null;
}

/** What a model said to one request, or why it said nothing that can be used. */
export type ModelAnswer =
  | {
      readonly text: string;
      readonly stopReason: StopReason;
      /** The tool that it called last; null for none. */
      readonly called: string | null;
    }
  | { readonly problem: string; readonly error?: ModelError };

/** Asks a model for one text. Never rejects: a model that fails, throws or stops in the middle is a problem in words. */
export async function askModel(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  meter: Meter,
): Promise<ModelAnswer> {
  let text = '';
  let called: string | null = null;
  try {
    for await (const event of sizedStream(model, request, signal)) {
      if (event.type === 'start') [text, called] = ['', null];
      if (event.type === 'error') {
        meter.usage = event.usage ?? meter.usage;
        return { problem: event.error.message, error: event.error };
      }
      meter.usage ??= UNKNOWN_USAGE;
      if (event.type === 'block_end' && event.block.type === 'text') text += event.block.text;
      if (event.type === 'block_end' && event.block.type === 'tool_call') called = event.block.name;
      if (event.type === 'finish') {
        meter.usage = event.usage;
        return { text, called, stopReason: event.stopReason };
      }
    }
  } catch (thrown) {
    return { problem: `The model threw instead of streaming an error: ${errorText(thrown)}` };
  }
  return { problem: 'The stream ended without saying that the reply was finished.' };
}
