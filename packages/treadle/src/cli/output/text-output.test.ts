import type { TreadleEvent } from '@treadle/core';

import { Writable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { createPrinter } from '../io.ts';
import { styleFor } from '../style.ts';
import { createTextOutput } from './text-output.ts';

function transcript(events: readonly TreadleEvent[]): { readonly printed: string; readonly notes: readonly string[] } {
  let printed = '';
  const notes: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      printed += chunk.toString();
      done();
    },
  });
  const output = createTextOutput({
    out: createPrinter(stream),
    note: (text) => notes.push(text),
    style: styleFor(false, {}),
    label: (name) => name,
    showPrompts: false,
  });
  for (const event of events) output.take(event);
  output.breakOff();
  return { printed, notes };
}

const turn = { runId: 'r', turnIndex: 0, attempt: 1 };
const live = { ...turn, afterSeq: 1 };

const said = (messageId: string, text: string, offset = 0): TreadleEvent => ({
  type: 'message_delta',
  ...live,
  messageId,
  kind: 'text',
  index: 0,
  offset,
  text,
});

describe('a run as text', () => {
  it('keeps what was streamed before a failure, marks it, and begins again below', () => {
    const error = { kind: 'network' as const, message: 'The connection broke.', retryable: true };
    const { printed, notes } = transcript([
      said('m1', 'Once up'),
      { type: 'attempt_failed', seq: 5, at: 0, ...turn, error, retry: { delayMs: 2000, modelIndex: 0 } },
      { type: 'message_discarded', seq: 6, at: 0, ...turn, reason: 'attempt_failed' },
      said('m2', 'Once upon'),
      said('m2', ' a time.\n', 9),
    ]);
    expect(printed).toBe('Once up\n\n[cut off: the reply begins again]\n\nOnce upon a time.\n\n');
    expect(notes).toEqual(["The model's call failed and is tried again in 2.0 s: The connection broke."]);
  });

  it('leaves the reason of the last failure to the end of the run', () => {
    const error = { kind: 'auth' as const, message: 'No.', retryable: false };
    expect(transcript([{ type: 'attempt_failed', seq: 5, at: 0, ...turn, error }])).toEqual({ printed: '', notes: [] });
  });

  it('says when a tool takes long, beside the transcript', () => {
    const slow = { type: 'tool_progress' as const, ...live, callId: 'c', toolName: 'bash' };
    const { printed, notes } = transcript([
      { ...slow, elapsedMs: 10_000 },
      { ...slow, elapsedMs: 20_500, text: 'half\nway' },
    ]);
    expect({ printed, notes }).toEqual({
      printed: '',
      notes: ['bash is still running (10.0 s)', 'bash is still running (20.5 s): half way'],
    });
  });

  it('does not show what a model thinks, nor arguments as they stream', () => {
    const delta = said('m1', 'hidden') as Extract<TreadleEvent, { type: 'message_delta' }>;
    expect(
      transcript([
        { ...delta, kind: 'thinking' },
        { ...delta, kind: 'tool_arguments' },
      ]).printed,
    ).toBe('');
  });
});
