import type { DurableEvent, QueueKind } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import { anchorOf } from '../messages/measure.ts';
import { cutResult } from '../messages/result-share.ts';
import { asHookDecision } from './services/hook-decision.ts';
import { UNKNOWN_USAGE } from '../model/model.ts';
import { asPermissionDecision } from '../features/permissions/decision.ts';
import { applyUpdate } from '../features/permissions/updates.ts';
import { partsOfRunId } from './plan/runs.ts';
import { routingKey } from '../features/routing/plan.ts';
import { branchesEnded } from '../features/branches/fold.ts';
import { compacted, compactionFailed, handOver, spend } from '../features/compaction/fold.ts';
import { addToView, replaceView } from './reduce/view.ts';
import { filesGenerated, noteFiles } from '../features/files/fold.ts';
import { forked } from './reduce/fork.ts';
import * as tasks from '../features/background/fold.ts';
import { approvalAnswered, approvalRequested, endCall, toolStarted } from './reduce/calls.ts';
import { callOf, callsOf, consume, openRun, openTurn } from './reduce/open.ts';
import { noteReads } from '../features/files/reduce-reads.ts';
import { countMisfit, countRefusal } from '../features/output/fold.ts';
import { noteSlot } from '../features/turn-context/fold.ts';
import { entitle } from '../features/titles/fold.ts';
import { refuseUnknownInput, unknownEvent, writtenBy } from './reduce/version.ts';
import {
  foldFinishedTurn,
  foldMessage,
  foldReservation,
  foldSettlement,
  newRunLimits,
} from '../features/limits/fold.ts';
import { turnOutcome, waitingRuns, type RunState, type SessionState } from './state.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

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
  fold(state, event);
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
      entitle(state, event);
      if (event.fork && state.tasks) tasks.tasksForked(state.tasks, event);
      // A fork of a sub-agent's session is nobody's sub-agent.
      state.spawnedBy = event.spawnedBy ?? null;
      return forked(state);
    case 'drive_started':
      if (event.eventVersion !== undefined) writtenBy(state, event.eventVersion);
      state.epoch = event.epoch;
      if (state.run) state.run.paused = false;
      forgetOtherDrives(state);
      return;
    case 'input_received':
      return inputReceived(state, event);
    case 'input_rejected':
      if (state.tasks) tasks.wakingRefused(state.tasks, event.inputSeq);
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
      countMisfit(state.run, event.toolName, event.reason);
      return endCall(state, event, event.content, true);
    case 'tool_started':
      return toolStarted(state, event);
    case 'tool_ended':
      if (event.inputSeq !== undefined) consume(state, event.inputSeq);
      if (state.tasks) tasks.taskRead(state.tasks, event);
      return endCall(state, event, event.content, event.isError);
    case 'tool_paused':
      callOf(state, event).paused = { pending: event.pending, woken: false };
      return;
    case 'approval_requested':
      return approvalRequested(state, event);
    case 'approval_answered':
      return approvalAnswered(state, event);
    case 'run_paused':
      openRun(state, event).paused = true;
      return;
    case 'compacted':
      return compacted(state, event);
    case 'compaction_failed':
      return compactionFailed(state, event);
    case 'turn_ended':
      return turnEnded(state, event);
    case 'decision_made':
      return decisionMade(state, event);
    case 'budget_settled':
      state.settled = { key: event.key, cost: event.cost, basis: event.basis };
      return foldSettlement(openRun(state, event), event);
    case 'run_ended':
      return runEnded(state, event);
    case 'message_discarded':
      // Nobody said what the call had cost until then; a failed attempt says it itself.
      if (event.reason === 'interrupted') openRun(state, event).cost = null;
      return;
    // Facts for readers of the log: nothing the loop decides depends on them.
    case 'file_checkpointed':
    case 'files_rewound':
      return;
    case 'files_generated':
      return filesGenerated(state, event);
    case 'branches_started':
      openRun(state, event).branches = { all: event.branches };
      return;
    case 'branches_ended':
      return branchesEnded(openRun(state, event), event);
    case 'task_updated':
      return tasks.taskUpdated(state, event);
    default:
      return unknownEvent(event);
  }
}

/** What was asked at the start of an earlier drive is of no use to this one: a run that waits may see any number of them. */
function forgetOtherDrives({ decisions }: SessionState): void {
  for (const key of decisions.keys()) if (key.startsWith('session_start:')) decisions.delete(key);
}

function inputReceived(state: SessionState, event: EventOf<'input_received'>): void {
  const { seq, at, input } = event;
  refuseUnknownInput(seq, input);
  if (input.type === 'cancel') return cancel(state, input.inputSeq, { reason: input.reason ?? null });
  if (input.type === 'permission_updates') {
    for (const update of input.updates) state.permissions = applyUpdate(state.permissions, update);
    return;
  }
  if (input.type === 'rename') return entitle(state, event);
  // Tags are for lists of sessions.
  if (input.type === 'tag') return;
  if (input.type === 'child_updated') return wakeCalls(state, input.sessionId);
  if (input.type === 'clear_queue') return clearQueue(state, input.kind);
  if (input.type === 'stop_task') return tasks.stopTask(state.tasks, input);
  if (input.type === 'task_ended') return tasks.taskEnded(state, { seq, at, input });
  if (input.type === 'import' && state.run === null) {
    if (state.tasks) tasks.forgetResults(state.tasks);
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
  if (state.tasks) tasks.cancelTasks(state.tasks, target, cancelled.reason);
  if (run && (target === undefined || target === run.inputSeq)) run.cancel = cancelled;
  for (const entry of waitingRuns(state)) {
    if (target === undefined || target === entry.seq) entry.cancelled = cancelled;
  }
}

function runStarted(state: SessionState, event: EventOf<'run_started'>): void {
  // A prompt stays in the inbox until all its messages are in the history.
  const { input } = state.inbox.find(({ seq }) => seq === event.inputSeq) ?? {};
  if (input?.type !== 'prompt' || input.messages.length === 0) consume(state, event.inputSeq);
  state.ordinals.set(event.configSegment, event.ordinal);
  if (state.tasks) tasks.tasksWoke(state.tasks);
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
    limits: newRunLimits(event),
    lastMessage: null,
    turn: null,
    last: null,
    cancel: null,
    stop: null,
    tooLong: null,
    stopsRefused: 0,
    checksFailed: 0,
    outputsFailed: 0,
    paused: false,
    isForked: false,
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
  if (event.closing) run.limits.closing = event.closing;
}

function attemptFailed(state: SessionState, event: EventOf<'attempt_failed'>): void {
  const { at, error, retry, usage } = event;
  const run = openRun(state, event);
  const turn = openTurn(state, event);
  turn.failure = { error, retry: retry ? { at: at + retry.delayMs, modelIndex: retry.modelIndex } : null };
  const { index: turnIndex, modelIndex } = turn;
  if (state.decisions.has(routingKey(turnIndex))) run.lastFailure = { turnIndex, modelIndex, kind: error.kind };
  if (usage) spend(run, usage, event.cost ?? null);
}

function messageAdded(state: SessionState, event: EventOf<'message_added'>): void {
  const run = openRun(state, event);
  const { message } = event;
  if (event.inputSeq === run.inputSeq) promptMessageAdded(state, run);
  else if (event.inputSeq !== undefined) consume(state, event.inputSeq);
  if (event.inView) addToView(state, message);
  if (state.tasks && event.notice?.type === 'task') tasks.taskDelivered(state.tasks, event.notice.taskId);
  noteSlot(state.slots, message);
  if (message.role === 'user' && message.origin === 'hook' && state.notes.length > 0) {
    state.notes = state.notes.filter(({ id }) => id !== message.id);
  }
  foldMessage(run, event);
  if (message.role !== 'assistant') return;
  run.lastMessage = message;
  noteFiles(run, message);
  if (event.fromBranch === undefined) spend(run, message.usage, message.cost);
  if (event.inView) state.anchor = anchorOf(message, state.view.length - 1) ?? state.anchor;
  if (message.containerId !== undefined) state.container = { provider: message.provider, id: message.containerId };
  if (run.turn === null) return;
  run.turn.message = message;
  if (event.inView) run.turn.calls = callsOf(message);
  if (run.turn.calls.length === 0 && message.stopReason !== 'error') foldFinishedTurn(run, run.turn, message);
}

function promptMessageAdded(state: SessionState, run: RunState): void {
  run.promptAdded += 1;
  const { input } = state.inbox.find(({ seq }) => seq === run.inputSeq) ?? {};
  if (input?.type === 'prompt' && run.promptAdded >= input.messages.length) consume(state, run.inputSeq);
}

/** The answer is kept, and what a hook said takes effect: on its call, on what the model is told, on the run. */
function decisionMade(state: SessionState, event: EventOf<'decision_made'>): void {
  const { seq, kind, key, turnIndex, callId, decision } = event;
  state.decisions.set(key, { answer: decision, turnIndex });
  if (kind === 'permission') return permissionDecided(state, event);
  if (kind === 'check') countRefusal(state.run, key, decision);
  if (kind === 'budget' && state.run?.turn) {
    foldReservation(state.run, event);
    // The call is this drive's to make, whoever began the turn.
    state.run.turn.epoch = state.epoch;
  }
  if (kind !== 'hook' || !isJsonObject(decision)) return;
  const said = asHookDecision(decision);
  // What a hook adds to a compaction is for whoever writes the summary.
  if (said.context !== undefined && !key.startsWith('before_compaction:'))
    state.notes.push({ id: `hook_${seq}`, text: said.context, key });
  const { run } = state;
  if (run === null || run.runId !== event.runId) return;
  if (said.endRun !== undefined) run.stop = { reason: said.endRun };
  const call = callId === undefined ? undefined : run.turn?.calls.find((each) => each.callId === callId);
  if (call && said.input) call.arguments = said.input;
  if (call?.result && said.output) call.result = { ...call.result, content: said.output };
  if (key.startsWith('stop:') && said.decision === 'deny') run.stopsRefused += 1;
}

/** What was decided takes effect: on the call, on what the session may do, on the run. */
function permissionDecided(state: SessionState, { runId, callId, decision }: EventOf<'decision_made'>): void {
  const said = asPermissionDecision(decision);
  for (const update of said.updates ?? []) state.permissions = applyUpdate(state.permissions, update);
  const { run } = state;
  if (run === null || run.runId !== runId) return;
  const call = run.turn?.calls.find((each) => each.callId === callId);
  if (call && said.arguments) call.arguments = said.arguments;
  if (said.interrupt === true) run.stop = { reason: said.reason };
}

function runEnded(state: SessionState, { runId, inputSeq, handoff }: EventOf<'run_ended'>): void {
  if (handoff) handOver(state, handoff);
  if (inputSeq === undefined) {
    state.lastRunId = runId;
    if (state.tasks && state.run) tasks.runEnded(state.tasks, state.run);
    state.run = null;
    state.notes = [];
  } else {
    // It never started: its input is used up, its number is taken, and what hooks had to add to it is of no use.
    consume(state, inputSeq);
    const about = [`user_prompt_submit:${inputSeq}`, `before_run:${inputSeq}`];
    state.notes = state.notes.filter(({ key }) => !about.includes(key));
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
  noteReads(state.reads, turn);
  if (state.decisions.size > 0) forgetTurn(state.decisions, event.turnIndex);
  run.last = turnOutcome(turn);
  run.turn = null;
}

function forgetTurn(decisions: SessionState['decisions'], ended: number): void {
  for (const [key, { turnIndex }] of decisions) if (turnIndex === ended) decisions.delete(key);
}
