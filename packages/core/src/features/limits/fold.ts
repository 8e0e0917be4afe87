import type { EventOf, Fold } from '../../kernel/fold.ts';
import type { RunLimits } from './state.ts';
import type { RunState, TurnState } from '../../kernel/state.ts';
import type { AssistantMessage } from '../../messages/message.ts';
import { finalText } from '../../messages/final-text.ts';
import { newGuard, type ObservedCall, observeTurn } from './guard.ts';

export const newRunLimits = ({ limits, config }: EventOf<'run_started'>): RunLimits => ({
  own: limits ?? null,
  toolTurns: 0,
  toolCalls: 0,
  callsUsedUp: false,
  spent: 0,
  reservation: null,
  summaries: 0,
  overspent: false,
  stoppedAt: null,
  warned: [],
  closing: null,
  continued: 0,
  answered: '',
  guard: config.loopDetection === false ? null : newGuard(),
});

export const limitsFold: Fold = {
  after({ run }, event) {
    if (run === null) return;
    const { limits, turn } = run;
    switch (event.type) {
      case 'turn_started':
        if (event.closing) limits.closing = event.closing;
        return;
      case 'message_added':
        foldMessage(run, event);
        if (event.message.role !== 'assistant' || !turn) return;
        if (turn.calls.length === 0 && event.message.stopReason !== 'error') foldFinishedTurn(run, turn, event.message);
        return;
      case 'tool_started':
        if (event.attempt === 1 && !event.skipped) limits.toolCalls += 1;
        return;
      case 'tool_call_rejected':
        if (event.reason === 'limit') limits.callsUsedUp = true;
        if (event.reason !== 'no_call') callEnded(run);
        return;
      case 'tool_ended':
        return callEnded(run);
      default:
    }
  },
};

function callEnded(run: RunState): void {
  const { turn } = run;
  if (turn?.message && turn.ended === turn.calls.length) foldFinishedTurn(run, turn, turn.message);
}

/** A message was added to the run: what the runtime had told the model, or a person's, who starts the count anew. */
function foldMessage(run: RunState, { message, notice, inView, stoppedAt }: EventOf<'message_added'>): void {
  const { limits } = run;
  if (stoppedAt !== undefined) limits.stoppedAt = stoppedAt;
  if (message.role === 'user') {
    const isPerson = message.origin === 'steering' || message.origin === 'follow_up';
    if (limits.guard && isPerson) limits.guard = newGuard();
    if (notice?.type === 'limit_warning') limits.warned.push(notice.limit);
    else if (notice?.type === 'loop_detected') limits.guard?.steered.push(notice.pattern);
    else if (notice?.type === 'cut_off') {
      limits.continued += 1;
      limits.answered += finalText(run.lastMessage);
      return;
    }
    if (isPerson) forgetAnswer(limits);
    return;
  }
  if (message.role !== 'assistant' || !inView) return;
  if (message.content.some(({ type }) => type === 'tool_call')) {
    limits.toolTurns += 1;
    forgetAnswer(limits);
  }
}

function forgetAnswer(limits: RunLimits): void {
  limits.continued = 0;
  limits.answered = '';
}

/** The reply is there and all its calls have ended: the guard looks at it. */
function foldFinishedTurn(run: RunState, turn: TurnState, message: AssistantMessage): void {
  const { guard } = run.limits;
  if (!guard || message.stopReason === 'aborted') return;
  // What people skipped, cancelled or used up says nothing about the model.
  const calls = turn.calls.flatMap(({ name, arguments: args, result, overruled }): ObservedCall[] =>
    result && !overruled ? [{ name, arguments: args, content: result.content, isError: result.isError }] : [],
  );
  if (calls.length === 0 && turn.calls.length > 0) return;
  observeTurn(guard, { calls, isEmpty: turn.calls.length === 0 && isEmpty(message) });
}

const UNFINISHED: ReadonlySet<string> = new Set(['length', 'pause', 'refusal', 'content_filter', 'error']);

const isEmpty = ({ content, stopReason }: AssistantMessage): boolean =>
  !UNFINISHED.has(stopReason) &&
  content.every((block) => block.type === 'thinking' || (block.type === 'text' && block.text.trim() === ''));
