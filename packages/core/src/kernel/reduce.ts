import { TreadleError } from '../errors.ts';
import type { DurableEvent, QueueKind, SessionInput } from '../events/events.ts';
import { anchorOf, NO_ANCHOR } from '../messages/anchor.ts';
import { cutResult } from '../messages/result-share.ts';
import { UNKNOWN_USAGE } from '../model/usage.ts';
import type { EventOf } from './fold.ts';
import { FOLDS, newRunSlices, newSessionSlices } from './folds.ts';
import { partsOfRunId } from './services/run-id.ts';
import { endCall, toolStarted } from './reduce/calls.ts';
import { forked } from './reduce/fork.ts';
import { callOf, callsOf, consume, openRun, openTurn } from './reduce/open.ts';
import { refuseUnknownInput, unknownEvent, writtenBy } from './reduce/version.ts';
import { addToView, replaceView, spend } from './reduce/view.ts';
import { type RunState, type SessionState, turnOutcome, waitingRuns } from './state.ts';

/**
 * Folds one event into the state, in place: no I/O, no clock, no randomness. The same events give the same state in any
 * process. Returns the state it was given.
 *
 * @throws TreadleError `journal_corrupt` when the event doesn't follow the last one folded in; `journal_too_new` when a
 * newer version has written it.
 */
export function reduce(state: SessionState, event: DurableEvent): SessionState {
  if (event.seq !== state.seq + 1) {
    throw new TreadleError(
      'journal_corrupt',
      `Session ${state.sessionId}: event ${event.seq} follows event ${state.seq}. The log has a gap or a repeat.`,
    );
  }
  countTime(state, event);
  for (const { before } of FOLDS) before?.(state, event);
  fold(state, event);
  for (const { after } of FOLDS) after?.(state, event);
  // Last, so that what can't be folded in is refused again the next time, and not passed over.
  state.seq = event.seq;
  return state;
}

/**
 * Driven time goes from one event of the drive to its next. A `drive_started` ends a stretch in which nobody was at work,
 * and what others post says nothing about who was.
 */
function countTime(state: SessionState, event: DurableEvent): void {
  const { run } = state;
  if (run === null || event.type === 'input_received' || event.type === 'files_rewound') return;
  if (event.type !== 'drive_started' && !run.paused && event.at > run.lastAt) run.activeMs += event.at - run.lastAt;
  run.lastAt = Math.max(run.lastAt, event.at);
}

function fold(state: SessionState, event: DurableEvent): void {
  switch (event.type) {
    case 'session_created':
      writtenBy(state, event.eventVersion);
      // A fork of a sub-agent's session is nobody's sub-agent.
      state.spawnedBy = event.spawnedBy ?? null;
      return forked(state);
    case 'drive_started':
      if (event.eventVersion !== undefined) writtenBy(state, event.eventVersion);
      state.epoch = event.epoch;
      if (state.run) state.run.paused = false;
      return;
    case 'input_received':
      return inputReceived(state, event);
    case 'input_rejected':
      return consume(state, event.inputSeq);
    case 'run_started':
      return runStarted(state, event);
    case 'turn_started':
      return turnStarted(state, event);
    case 'message_added':
      return messageAdded(state, event);
    case 'attempt_failed':
      return attemptFailed(state, event);
    case 'tool_call_rejected':
      if (event.reason === 'no_call') return;
      return endCall(state, event, event.content, true);
    case 'tool_started':
      return toolStarted(state, event);
    case 'tool_ended':
      if (event.inputSeq !== undefined) consume(state, event.inputSeq);
      return endCall(state, event, event.content, event.isError);
    case 'tool_paused':
      callOf(state, event).paused = { pending: event.pending, woken: false };
      return;
    case 'run_paused':
      openRun(state, event).paused = true;
      return;
    case 'turn_ended':
      return turnEnded(state, event);
    case 'decision_made':
      state.decisions.set(event.key, { answer: event.decision, turnIndex: event.turnIndex });
      return;
    case 'run_ended':
      return runEnded(state, event);
    case 'message_discarded':
      // Nobody said what the call had cost until then; a failed attempt says it itself.
      if (event.reason === 'interrupted') openRun(state, event).cost = null;
      return;
    // Features fold these, or they are facts for readers of the log.
    case 'approval_requested':
    case 'approval_answered':
    case 'budget_settled':
    case 'compacted':
    case 'compaction_failed':
    case 'file_checkpointed':
    case 'files_rewound':
    case 'files_generated':
    case 'branches_started':
    case 'branches_ended':
    case 'task_updated':
      return;
    default:
      return unknownEvent(event);
  }
}

/** Inputs that wait for nobody: they take effect at once, or are for lists of sessions. */
const TAKEN_AT_ONCE: ReadonlySet<SessionInput['type']> = new Set([
  'permission_updates',
  'rename',
  'tag',
  'stop_task',
  'task_ended',
  'set_state',
  'extension',
]);

function inputReceived(state: SessionState, { seq, at, input }: EventOf<'input_received'>): void {
  refuseUnknownInput(seq, input);
  if (TAKEN_AT_ONCE.has(input.type)) return;
  if (input.type === 'cancel') return cancel(state, input.inputSeq, { reason: input.reason ?? null });
  if (input.type === 'child_updated') return wakeCalls(state, input.sessionId);
  if (input.type === 'clear_queue') return clearQueue(state, input.kind);
  if (input.type === 'import' && state.run === null) {
    replaceView(state, input.messages);
    // What was queued for the old conversation goes with it; a prompt that waits is answered all the same.
    state.inbox = state.inbox.filter((entry) => entry.input.type === 'prompt' || entry.input.type === 'continue');
    return;
  }
  state.inbox.push({ seq, at, input, cancelled: null });
}

function wakeCalls({ run }: SessionState, sessionId: string): void {
  for (const call of run?.turn?.calls ?? []) {
    if (call.childSessionId === sessionId && call.paused) call.paused.woken = true;
  }
}

function clearQueue(state: SessionState, kind: QueueKind | undefined): void {
  state.inbox = state.inbox.filter(({ input: { type } }) =>
    kind === undefined ? type !== 'steering' && type !== 'follow_up' : type !== kind,
  );
}

/** What is not there yet can't be cancelled: a later prompt must not be hit. */
function cancel(state: SessionState, target: number | undefined, cancelled: { readonly reason: string | null }): void {
  const { run } = state;
  if (run && (target === undefined || target === run.inputSeq)) run.cancel = cancelled;
  for (const entry of waitingRuns(state)) {
    if (target === undefined || target === entry.seq) entry.cancelled = cancelled;
  }
  if (run !== null || target !== undefined) return;
  for (const entry of state.inbox) if (entry.input.type === 'compact') entry.cancelled = cancelled;
}

function runStarted(state: SessionState, event: EventOf<'run_started'>): void {
  // A prompt stays in the inbox until all its messages are in the history.
  const { input } = state.inbox.find(({ seq }) => seq === event.inputSeq) ?? {};
  if (input?.type !== 'prompt' || input.messages.length === 0) consume(state, event.inputSeq);
  state.ordinals.set(event.configSegment, event.ordinal);
  state.run = {
    runId: event.runId,
    continuation: event.continuation,
    startedBy: event.startedBy,
    metadata: event.metadata ?? null,
    startedSeq: event.seq,
    inputSeq: event.inputSeq,
    promptAdded: 0,
    activeMs: 0,
    lastAt: event.at,
    modelIndex: 0,
    turns: 0,
    children: 0,
    usage: UNKNOWN_USAGE,
    cost: 0,
    lastMessage: null,
    turn: null,
    last: null,
    cancel: null,
    stop: null,
    paused: false,
    isForked: false,
    ...newRunSlices(event),
  };
  if (event.clientTools !== undefined) state.run.clientTools = event.clientTools;
}

function turnStarted(state: SessionState, event: EventOf<'turn_started'>): void {
  const run = openRun(state, event);
  if (run.turn === null) run.turns += 1;
  const modelIndex = event.modelIndex ?? 0;
  const modelAttempt = run.turn?.modelIndex === modelIndex ? run.turn.modelAttempt + 1 : 1;
  run.modelIndex = modelIndex;
  run.turn = {
    index: event.turnIndex,
    attempt: event.attempt,
    modelIndex: run.modelIndex,
    modelAttempt,
    epoch: state.epoch,
    message: null,
    failure: null,
    calls: [],
    // Both are said of a turn, whichever attempt it was.
    compacted: run.turn?.compacted ?? false,
    overflowed: run.turn?.overflowed ?? false,
    ended: 0,
  };
}

function attemptFailed(state: SessionState, event: EventOf<'attempt_failed'>): void {
  const { at, error, retry, usage } = event;
  const run = openRun(state, event);
  const turn = openTurn(state, event);
  turn.failure = { error, retry: retry ? { at: at + retry.delayMs, modelIndex: retry.modelIndex } : null };
  if (usage) spend(run, usage, event.cost ?? null);
}

function messageAdded(state: SessionState, event: EventOf<'message_added'>): void {
  const run = openRun(state, event);
  const { message } = event;
  if (event.inputSeq === run.inputSeq) promptMessageAdded(state, run);
  else if (event.inputSeq !== undefined) consume(state, event.inputSeq);
  if (event.inView) addToView(state, message);
  if (message.role !== 'assistant') return;
  run.lastMessage = message;
  if (event.fromBranch === undefined) spend(run, message.usage, message.cost);
  if (event.inView) state.anchor = anchorOf(message, state.view.length - 1) ?? state.anchor;
  if (message.containerId !== undefined) state.container = { provider: message.provider, id: message.containerId };
  if (run.turn === null) return;
  run.turn.message = message;
  if (event.inView) run.turn.calls = callsOf(message);
}

function promptMessageAdded(state: SessionState, run: RunState): void {
  run.promptAdded += 1;
  const { input } = state.inbox.find(({ seq }) => seq === run.inputSeq) ?? {};
  if (input?.type === 'prompt' && run.promptAdded >= input.messages.length) consume(state, run.inputSeq);
}

function runEnded(state: SessionState, { runId, inputSeq }: EventOf<'run_ended'>): void {
  if (inputSeq === undefined) {
    state.lastRunId = runId;
    state.run = null;
  } else {
    // It never started: its input is used up, and its number is taken.
    consume(state, inputSeq);
    const { configSegment, ordinal } = partsOfRunId(state.sessionId, runId);
    state.ordinals.set(configSegment, ordinal);
  }
  state.decisions.clear();
}

/** Results enter the view here, in the order of the calls, whatever order they finished in. */
function turnEnded(state: SessionState, event: EventOf<'turn_ended'>): void {
  const run = openRun(state, event);
  const turn = openTurn(state, event);
  const { resultsCut: cut } = event;
  for (const { result } of turn.calls) {
    if (!result) continue;
    addToView(state, cut ? cutResult(result, cut.tokens, cut.recall) : result);
    // A text that was longer than the log keeps is whole beside it.
    if (result.content.some((block) => block.type === 'text' && block.whole)) state.wasCut = true;
  }
  if (cut) state.wasCut = true;
  if (state.decisions.size > 0) forgetTurn(state.decisions, event.turnIndex);
  run.last = turnOutcome(turn);
  run.turn = null;
}

function forgetTurn(decisions: SessionState['decisions'], ended: number): void {
  for (const [key, { turnIndex }] of decisions) if (turnIndex === ended) decisions.delete(key);
}

/** The state before any event. */
export function initialState(sessionId: string): SessionState {
  return {
    sessionId,
    ...newSessionSlices(),
    seq: 0,
    eventVersion: 0,
    epoch: 0,
    view: [],
    anchor: NO_ANCHOR,
    inbox: [],
    run: null,
    ordinals: new Map(),
    decisions: new Map(),
    lastRunId: null,
    drivenBy: null,
    spawnedBy: null,
    container: null,
  };
}
