import { errorText, TreadleError } from '@treadle/core';
import type { Model, ModelError, ModelMessage, StopReason, Usage } from '@treadle/core';
import type { ModelBlock, ModelRequest } from '@treadle/core/model';

import type { CliIo } from '../io.ts';

/** How probes ask: each has so many milliseconds, and none goes on after the command was interrupted. */
export interface ProbeLimits {
  readonly io: CliIo;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What came of one request. */
export interface Reply {
  readonly ms: number;
  /** Pieces in which the text, the reasoning and the calls' arguments came. */
  readonly deltas: number;
  readonly text: string;
  /** The blocks that were finished. */
  readonly blocks: readonly ModelBlock[];
  readonly stopReason: StopReason | null;
  readonly usage: Usage | null;
  /** Null when the stream ended as it should. */
  readonly error: ModelError | null;
}

type Draft = { -readonly [Key in keyof Reply]: Reply[Key] } & { blocks: ModelBlock[] };

/** The value of `work`, or null when its time is over first. Its signal is aborted then. */
export async function inTime<Value>(
  { io, timeoutMs, signal }: ProbeLimits,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | null> {
  const controller = new AbortController();
  const cancel = io.after(timeoutMs, () => controller.abort());
  const ended = AbortSignal.any([signal, controller.signal]);
  const late = Promise.withResolvers<null>();
  ended.addEventListener('abort', () => late.resolve(null), { once: true });
  if (ended.aborted) late.resolve(null);
  const working = work(ended);
  // What fails after its time is nobody's concern; before it, the race has it.
  working.catch(() => {});
  try {
    return await Promise.race([late.promise, working]);
  } finally {
    cancel();
    controller.abort();
  }
}

/** Sends one request and reads the reply to its end, or to the end of its time. Never throws. */
export async function ask(model: Model, request: ModelRequest, limits: ProbeLimits): Promise<Reply> {
  const { io, timeoutMs } = limits;
  const began = io.now();
  const draft: Draft = { ms: 0, deltas: 0, text: '', blocks: [], stopReason: null, usage: null, error: null };
  const whole = await inTime(limits, (signal) => readInto(draft, model, request, signal)).catch((thrown: unknown) => {
    draft.error = definitionError(thrown);
    return true;
  });
  draft.ms = io.now() - began;
  if (whole === null) draft.error = timeoutError(timeoutMs);
  return draft;
}

async function readInto(draft: Draft, model: Model, request: ModelRequest, signal: AbortSignal): Promise<true> {
  for await (const event of model.stream(request, signal)) {
    if (signal.aborted) break;
    if (event.type === 'start') Object.assign(draft, { deltas: 0, text: '', blocks: [] });
    if (event.type.endsWith('_delta')) draft.deltas += 1;
    if (event.type === 'text_delta') draft.text += event.text;
    if (event.type === 'block_end') draft.blocks.push(event.block);
    if (event.type === 'error') draft.error = event.error;
    if (event.type === 'finish') {
      draft.stopReason = event.stopReason;
      draft.usage = event.usage;
    }
  }
  return true;
}

const timeoutError = (ms: number): ModelError => ({
  kind: 'network',
  code: 'timeout',
  message: `There was no complete reply within ${ms / 1000} s.`,
  retryable: true,
});

/** What was thrown before anything was sent, as an error of a model. */
export const definitionError = (thrown: unknown): ModelError => ({
  kind: 'other',
  message: errorText(thrown),
  retryable: false,
  ...(thrown instanceof TreadleError ? { code: thrown.code } : {}),
});

/** A request of one user message. */
export const question = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: 'You are being tested by a program. Do exactly what is asked.',
  messages: [userMessage(text)],
  tools: [],
  cache: 'off',
  ...more,
});

export const userMessage = (text: string): ModelMessage => ({
  role: 'user',
  id: 'message_probe',
  at: 0,
  origin: 'prompt',
  content: [{ type: 'text', text }],
});
