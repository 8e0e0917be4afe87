import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { DurableEvent } from '@treadle/core';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

const only = <Type extends DurableEvent['type']>(log: readonly DurableEvent[], type: Type): EventOf<Type>[] =>
  log.filter((event): event is EventOf<Type> => event.type === type);

/**
 * What holds of every log whose runs have ended, however often a process died on the way.
 *
 * @throws AssertionError that says which event breaks it.
 */
export function checkLog(log: readonly DurableEvent[], acknowledged: ReadonlyMap<number, DurableEvent>): void {
  log.forEach((event, index) => assert.equal(event.seq, index + 1, 'the log has a gap'));
  for (const [seq, event] of acknowledged) {
    assert.ok(isDeepStrictEqual(log[seq - 1], event), `event ${seq} (${event.type}) was acknowledged and is lost`);
  }
  checkRuns(log);
  checkCalls(log);
  checkDecisions(log);
  checkInputs(log);
}

function checkRuns(log: readonly DurableEvent[]): void {
  const started = only(log, 'run_started').map(({ runId }) => runId);
  const ended = only(log, 'run_ended').map(({ runId }) => runId);
  assert.deepEqual(unique(ended), ended, 'a run has two ends');
  assert.deepEqual(unique(started), started, 'a run has two beginnings');
  for (const runId of started) assert.ok(ended.includes(runId), `run ${runId} has no end`);
  for (const runId of started) {
    const turns = only(log, 'turn_started').filter((event) => event.runId === runId);
    const over = only(log, 'turn_ended').filter((event) => event.runId === runId);
    assert.deepEqual(
      over.map(({ turnIndex }) => turnIndex),
      unique(turns.map(({ turnIndex }) => turnIndex)),
      'every turn that began has one end, in order',
    );
  }
}

/** Every call that a model asked for has exactly one result; work that may not be repeated was begun once. */
function checkCalls(log: readonly DurableEvent[]): void {
  const asked = only(log, 'message_added').flatMap(({ message, inView }) =>
    message.role === 'assistant' && inView
      ? message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []))
      : [],
  );
  const results = [...only(log, 'tool_ended'), ...only(log, 'tool_call_rejected')].map(({ callId }) => callId);
  assert.deepEqual(results.toSorted(), asked.toSorted(), 'each call has one result, and each result its call');
  const keys = new Map<string, string>();
  for (const { callId, replay, runs, attempt, idempotencyKey, toolName } of only(log, 'tool_started')) {
    assert.equal(keys.get(callId) ?? idempotencyKey, idempotencyKey, `${toolName} was begun again under another key`);
    keys.set(callId, idempotencyKey);
    if (runs === 'server' && replay === 'never') assert.equal(attempt, 1, `${toolName} may not be begun twice`);
  }
  assert.equal(new Set(keys.values()).size, keys.size, 'two calls have the same idempotency key');
}

/** What was decided once is not decided again while it is of use. */
function checkDecisions(log: readonly DurableEvent[]): void {
  const known = new Set<string>();
  for (const event of log) {
    if (event.type === 'run_ended') known.clear();
    if (event.type !== 'decision_made') continue;
    assert.ok(!known.has(event.key), `${event.key} was decided twice`);
    known.add(event.key);
  }
  const questions = only(log, 'approval_requested').map(({ approvalId }) => approvalId);
  assert.deepEqual(unique(questions), questions, 'a person was asked the same question twice');
}

/** What somebody said is in the history once, or was refused. */
function checkInputs(log: readonly DurableEvent[]): void {
  const used = new Map<number, number>();
  for (const event of log) {
    if (event.type !== 'message_added' && event.type !== 'input_rejected') continue;
    if (event.inputSeq !== undefined) used.set(event.inputSeq, (used.get(event.inputSeq) ?? 0) + 1);
  }
  for (const { seq, input } of only(log, 'input_received')) {
    const wanted = { prompt: input.type === 'prompt' ? input.messages.length : 0, steering: 1, follow_up: 1 };
    if (!(input.type in wanted)) continue;
    const count = wanted[input.type as keyof typeof wanted];
    assert.equal(used.get(seq) ?? 0, count, `the ${input.type} of event ${seq} must reach the model once`);
  }
}

const unique = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];
