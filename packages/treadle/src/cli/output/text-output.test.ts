import type { TreadleEvent } from '@treadle/core';

import { Writable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { createPrinter } from '../io.ts';
import { styleFor } from '../style.ts';
import { createTextOutput } from './text-output.ts';

/** What is printed of events; with `soon`, on a terminal, where that is called before the last event. */
function transcript(
  events: readonly TreadleEvent[],
  soon?: 'passes' | 'is not over',
): { readonly printed: string; readonly notes: readonly string[] } {
  let printed = '';
  const notes: string[] = [];
  const timers: (() => void)[] = [];
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
    ...(soon && {
      after: (_ms, fn) => {
        timers.push(fn);
        return () => timers.splice(0);
      },
    }),
  });
  for (const [index, event] of events.entries()) {
    if (index === events.length - 1 && soon === 'passes') for (const fn of timers.splice(0)) fn();
    output.take(event);
  }
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

const started = (callId: string, command: string): TreadleEvent => ({
  type: 'tool_started',
  seq: 1,
  at: 0,
  ...turn,
  callId,
  toolName: 'bash',
  arguments: { command },
  idempotencyKey: callId,
  replay: 'never',
  runs: 'server',
});

const ended = (callId: string): TreadleEvent => ({
  type: 'tool_ended',
  seq: 2,
  at: 0,
  ...turn,
  callId,
  toolName: 'bash',
  content: [],
  isError: false,
  durationMs: 1,
});

const wrote = (callId: string, text: string): TreadleEvent => ({
  type: 'tool_update',
  ...live,
  callId,
  toolName: 'bash',
  content: [{ type: 'text', text }],
});

describe('calls of tools', () => {
  it('have a line from their start on, which their end completes', () => {
    const begun = [started('1', 'make')];
    expect(transcript(begun).printed).toBe('• bash · make\n\n');
    expect(transcript([...begun, ended('1')]).printed).toBe('• bash · make · ok · 1 ms\n\n');
  });

  it('have a line each in their order, whichever ends first', () => {
    const events = [started('1', 'a'), started('2', 'b'), ended('2'), started('3', 'c'), ended('1'), ended('3')];
    expect(transcript(events).printed).toBe(
      '• bash · a · ok · 1 ms\n• bash · b · ok · 1 ms\n• bash · c · ok · 1 ms\n\n',
    );
  });

  it('are all begun on a terminal when they take longer', () => {
    const events = [started('1', 'a'), started('2', 'b'), ended('1')];
    expect(transcript(events, 'is not over').printed).toBe('• bash · a · ok · 1 ms\n• bash · b\n\n');
    expect(transcript(events, 'passes').printed).toBe('• bash · a\n• bash · b\n• bash · a · ok · 1 ms\n\n');
  });

  it('show on a terminal the latest lines that a command has written, each once', () => {
    const events = [
      started('1', 'make'),
      wrote('1', 'one\ntwo\nthr'),
      wrote('1', 'two\nthree\n\u001b[2J4\n5\n6\n7\n8\n'),
      ended('1'),
    ];
    expect(transcript(events).printed).toBe('• bash · make · ok · 1 ms\n\n');
    expect(transcript(events, 'is not over').printed).toBe(
      String.raw`• bash · make
  │ one
  │ two
  │ … 1 more line
  │ \u{1b}[2J4
  │ 5
  │ 6
  │ 7
  │ 8
• bash · make · ok · 1 ms

`,
    );
  });

  it('show which command writes, when two do', () => {
    const events = [started('1', 'a'), started('2', 'b'), wrote('1', 'x\n'), wrote('2', 'y\n'), ended('2'), ended('1')];
    expect(transcript(events, 'is not over').printed).toBe(
      '• bash · a\n• bash · b\n• bash · a\n  │ x\n• bash · b\n  │ y\n• bash · a · ok · 1 ms\n• bash · b · ok · 1 ms\n\n',
    );
  });
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
