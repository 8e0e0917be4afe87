import { describe, expect, it } from 'vitest';
import type { DurableEvent } from '../events/events.ts';
import { upToDate } from './up-to-date.ts';

const converted = (event: object): unknown => upToDate({ seq: 1, at: 0, ...event } as unknown as DurableEvent);
const described = (event: object): unknown => ({ seq: 1, at: 0, ...event });

describe('an event of version 1', () => {
  it.each([
    [
      { type: 'run_ended', end: 'completed', terminalCallId: 'c1' },
      { type: 'run_ended', status: 'completed', stopCallId: 'c1' },
    ],
    [
      { type: 'run_ended', end: 'no_progress' },
      { type: 'run_ended', status: 'loop_detected' },
    ],
    [
      { type: 'run_ended', end: 'check_failed' },
      { type: 'run_ended', status: 'guardrail_failed' },
    ],
    [
      { type: 'turn_started', closing: { end: 'turn_limit', message: 'Enough.' } },
      { type: 'turn_started', closing: { status: 'turn_limit', message: 'Enough.' } },
    ],
    [
      { type: 'run_started', config: { model: 'm', noProgress: false }, clientTools: [{ name: 't', parameters: {} }] },
      {
        type: 'run_started',
        config: { model: 'm', loopDetection: false },
        clientTools: [{ name: 't', inputSchema: {} }],
      },
    ],
    [
      { type: 'branches_ended', branches: [{ sessionId: 'b', end: 'aborted' }] },
      { type: 'branches_ended', branches: [{ sessionId: 'b', status: 'aborted' }] },
    ],
    [
      { type: 'approval_answered', decision: 'deny' },
      { type: 'approval_answered', decision: 'reject' },
    ],
    [
      { type: 'input_received', input: { type: 'approval_answer', decision: 'deny' } },
      { type: 'input_received', input: { type: 'approval_answer', decision: 'reject' } },
    ],
    [
      { type: 'input_received', input: { type: 'prompt', clientTools: [{ name: 't', parameters: {} }] } },
      { type: 'input_received', input: { type: 'prompt', clientTools: [{ name: 't', inputSchema: {} }] } },
    ],
    [
      { type: 'compaction_failed', reason: 'no_progress' },
      { type: 'compaction_failed', reason: 'nothing_to_remove' },
    ],
    [
      { type: 'compaction_failed', reason: 'loop_detected' },
      { type: 'compaction_failed', reason: 'nothing_to_remove' },
    ],
    [
      { type: 'message_added', notice: { type: 'no_progress', stopped: true } },
      { type: 'message_added', notice: { type: 'loop_detected', stopped: true } },
    ],
  ])('%j has the words of this version', (old, now) => {
    expect(converted(old)).toEqual(described(now));
    expect(converted(now)).toEqual(described(now));
  });

  it('stays as it is where no word has changed', () => {
    const event = { seq: 3, at: 0, type: 'drive_started', epoch: 1, owner: 'me' } as const;
    expect(upToDate(event)).toBe(event);
  });
});
