import type { DurableEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import { describe, expect, it } from 'vitest';
import { encodeAll, type SessionSnapshot } from './encoder.ts';
import { nativeFormat } from './native.ts';

const start = { sessionId: 's1', resumed: false };
const created: DurableEvent = { type: 'session_created', seq: 1, at: 5, eventVersion: 1, sessionId: 's1' };
const delta: LiveEvent = {
  type: 'message_delta',
  afterSeq: 4,
  runId: 's1.x.1',
  turnIndex: 0,
  messageId: 'msg_1',
  attempt: 1,
  kind: 'tool_arguments',
  index: 1,
  offset: 9,
  text: '"Oslo"',
  toolName: 'weather',
  callId: 'call_1',
};

describe('the native format', () => {
  it('writes each event as the JSON it is, one frame for each', () => {
    const frames = encodeAll(nativeFormat, start, [created, delta], { reason: 'finished' });
    expect(frames.map(({ data }) => JSON.parse(data) as unknown)).toEqual([created, delta]);
  });

  it('leaves the parsed value out of deltas of arguments, so that a long argument costs what it is long', () => {
    const [frame] = encodeAll(nativeFormat, start, [{ ...delta, partial: { city: 'Oslo' } }], { reason: 'finished' });
    expect(JSON.parse(frame?.data ?? '')).toEqual(delta);
  });

  it('does so too for what sub-agents stream', () => {
    const child: LiveEvent = {
      type: 'child_event',
      afterSeq: 4,
      runId: 's1.x.1',
      turnIndex: 0,
      callId: 'call_0',
      sessionId: 's2',
      event: delta,
    };
    const told = { ...child, event: { ...delta, partial: { city: 'Oslo' } } };
    const [frame] = encodeAll(nativeFormat, start, [told], { reason: 'finished' });
    expect(JSON.parse(frame?.data ?? '')).toEqual(child);
  });

  it('writes a snapshot as it is', () => {
    const snapshot: SessionSnapshot = {
      type: 'snapshot',
      seq: 7,
      sessionId: 's1',
      status: 'idle',
      messages: [],
      pending: [],
    };
    const [frame] = encodeAll(nativeFormat, start, [snapshot], { reason: 'finished' });
    expect(JSON.parse(frame?.data ?? '')).toEqual(snapshot);
  });

  it('says why it ends, unless it ends because all was told', () => {
    expect(encodeAll(nativeFormat, start, [], { reason: 'finished' })).toEqual([]);
    const end = { reason: 'failed', code: 'journal_failed', message: 'The journal is closed.' } as const;
    const [frame] = encodeAll(nativeFormat, start, [], end);
    expect(JSON.parse(frame?.data ?? '')).toEqual({ type: 'closing', ...end });
  });
});
