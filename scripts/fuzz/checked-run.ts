import { deepStrictEqual, ok } from 'node:assert/strict';
import process from 'node:process';
import {
  createSession,
  memoryJournal,
  openSession,
  TreadleError,
  type Agent,
  type DurableEvent,
  type Journal,
  type Run,
  type RunResult,
  type Session,
  type TreadleEvent,
} from '@treadle/core';
import { initialState, reduce } from '@treadle/core/kernel';
import type { ModelRequest } from '@treadle/core/model';
import { logOf } from '@treadle/testing';

/** How a run may end: `RunStatus` of core, and `paused`. */
const ENDS: ReadonlySet<string> = new Set<RunResult['status']>([
  'completed',
  'model_error',
  'aborted',
  'turn_limit',
  'token_limit',
  'time_limit',
  'refused',
  'length',
  'rejected',
  'stopped',
  'budget_limit',
  'tool_turn_limit',
  'tool_call_limit',
  'reply_limit',
  'thinking_limit',
  'arguments_limit',
  'loop_detected',
  'context_limit',
  'invalid_output',
  'guardrail_failed',
  'paused',
]);

export interface CheckedRun {
  readonly agent: Agent;
  /** Requests of the agent's model, where they are known. */
  readonly requests?: () => readonly ModelRequest[];
  /** Answers a run that waits for its client. */
  readonly answer?: (session: Session, result: RunResult) => Run;
  /** True where the values go into the log by themselves: a run may then be refused with a code. */
  readonly mayReject?: boolean;
}

/**
 * Plays a run and then another one in the same session, and checks what must hold whatever happened: the process heard of
 * no stray error, each run has one documented end, each call one result, and the log folds to the same state again.
 */
export async function playChecked(play: CheckedRun): Promise<void> {
  const stray: unknown[] = [];
  const note = (error: unknown): void => void stray.push(error);
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
  const prototype = Object.getOwnPropertyNames(Object.prototype).join();
  try {
    const journal = writingJournal();
    const session = await createSession(play.agent, { journal, id: 's1' });
    const events: TreadleEvent[] = [];
    session.subscribe((event) => events.push(event));
    await settled(play, session, session.prompt('Go.'));
    await settled(play, session, session.prompt('And now?'));
    // A stray rejection is told of in a later turn of the event loop.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    deepStrictEqual(stray, [], 'the process heard of an error that nobody caught');
    deepStrictEqual(Object.getOwnPropertyNames(Object.prototype).join(), prototype, 'the prototype of all objects');
    // A watcher writes what it is told as JSON.
    for (const event of events) JSON.stringify(event);
    const log = await logOf(journal, 's1');
    checkLog(log);
    const reopened = await openSession(play.agent, 's1', { journal });
    deepStrictEqual(reopened.messages, session.messages, 'the log gives another view than the session has');
    for (const request of play.requests?.() ?? []) checkPairs(request);
  } finally {
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
  }
}

async function settled(play: CheckedRun, session: Session, started: Run): Promise<void> {
  let run = started;
  for (let pauses = 0; pauses < 5; pauses += 1) {
    let result: RunResult;
    try {
      result = await run.result;
    } catch (error) {
      ok(play.mayReject === true && error instanceof TreadleError, `a run rejected: ${String(error)}`);
      return;
    }
    ok(ENDS.has(result.status), `a run ended as ${result.status}`);
    ok(
      result.status === 'completed' || result.status === 'paused' || result.message,
      `nobody says why it is ${result.status}`,
    );
    if (result.status !== 'paused' || !play.answer) return;
    run = play.answer(session, result);
  }
}

/** A journal in memory that holds what a file would: the text of each event, read again. */
function writingJournal(): Journal {
  const inner = memoryJournal();
  const written = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
  return {
    ...inner,
    append: (sessionId, epoch, expected, events) => inner.append(sessionId, epoch, expected, written(events)),
    post: (sessionId, input, key, at) => inner.post(sessionId, written(input), key, at),
  };
}

function checkLog(log: readonly DurableEvent[]): void {
  const ofType = (type: DurableEvent['type']): string[] =>
    log.flatMap((event) => (event.type === type && 'runId' in event ? [event.runId] : []));
  const started = ofType('run_started');
  const ended = ofType('run_ended').filter((runId) => started.includes(runId));
  deepStrictEqual([...new Set(ended)], ended, 'a run ended twice');
  const once = log.reduce(reduce, initialState('s1'));
  const copy = JSON.parse(JSON.stringify(log)) as DurableEvent[];
  deepStrictEqual(
    copy.reduce(reduce, initialState('s1')),
    once,
    'the log folds to another state when it is read again',
  );
}

/** Each call has exactly one result, after it and before the next reply. */
function checkPairs({ messages }: ModelRequest): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = open.indexOf(message.callId);
      ok(at >= 0, `the result of ${message.callId} has no call`);
      open.splice(at, 1);
    } else if (message.role === 'assistant') {
      deepStrictEqual(open, [], 'calls have no result');
      open = message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []));
    }
  }
  deepStrictEqual(open, [], 'calls have no result');
}
