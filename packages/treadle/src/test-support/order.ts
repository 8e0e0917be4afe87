// The order of events that holds always, as a machine that reads them and says where they break it.

import type { TreadleEvent } from '@treadle/core';

/**
 * What is wrong with the order of a session's events, of one drive or several; empty when nothing is. `complete` demands
 * that everything opened is closed at the end.
 */
export function orderProblems(events: readonly TreadleEvent[]): string[] {
  const problems: string[] = [];
  const calls = new Set<string>();
  const started = new Set<string>();
  let run: string | null = null;
  let turn: number | null = null;
  let message: string | null = null;
  let seq: number | null = null;
  let requested: string[] = [];

  const wrong = (index: number, what: string): void => void problems.push(`event ${index}: ${what}`);

  for (const [index, event] of events.entries()) {
    const { type } = event;
    if ('seq' in event) {
      if (seq !== null && event.seq !== seq + 1) wrong(index, `${type} has seq ${event.seq} after ${seq}`);
      seq = event.seq;
    }
    if (type === 'run_started') {
      if (run !== null) wrong(index, 'a run starts inside a run');
      run = event.runId;
    } else if ('runId' in event && event.runId !== run) {
      wrong(index, `${type} belongs to no open run`);
    }
    if ('turnIndex' in event && type !== 'turn_started' && event.turnIndex !== turn) {
      wrong(index, `${type} belongs to no open turn`);
    }
    switch (type) {
      case 'turn_started':
        if (turn !== null && event.attempt === 1) wrong(index, 'a turn starts inside a turn');
        turn = event.turnIndex;
        break;
      case 'message_started':
        message = event.messageId;
        break;
      case 'message_delta':
        if (event.messageId !== message) wrong(index, 'a delta belongs to no open message');
        break;
      case 'message_discarded':
        message = null;
        break;
      case 'message_added':
        if (turn === null) wrong(index, 'a message is added outside a turn');
        if (event.message.role !== 'assistant') break;
        message = null;
        requested = event.inView
          ? event.message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []))
          : [];
        for (const callId of requested) calls.add(callId);
        break;
      case 'tool_started':
        if (!calls.has(event.callId)) wrong(index, 'a tool starts that nobody called');
        started.add(event.callId);
        break;
      case 'tool_ended':
        if (!started.delete(event.callId) || !calls.delete(event.callId)) wrong(index, 'a tool ends that did not run');
        break;
      case 'tool_call_rejected':
        if (!calls.delete(event.callId)) wrong(index, 'a call is rejected that is not open');
        started.delete(event.callId);
        break;
      case 'turn_ended':
        if (calls.size > 0) wrong(index, `a turn ends with open calls: ${[...calls].join(', ')}`);
        if (message !== null) wrong(index, 'a turn ends with an open message');
        turn = null;
        break;
      case 'run_ended':
        if (turn !== null) wrong(index, 'a run ends with an open turn');
        run = null;
        break;
      default:
    }
  }
  if (run !== null) problems.push('the run has no end');
  return problems;
}
