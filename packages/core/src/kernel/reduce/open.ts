import { TreadleError } from '../../errors.ts';
import type { ToolCallBlock } from '../../messages/content.ts';
import type { AssistantMessage } from '../../messages/message.ts';
import type { CallState, RunState, SessionState, TurnState } from '../state.ts';

/** The open run, which the event must be of. */
export function openRun(
  state: SessionState,
  event: { readonly runId: string; readonly type: string; readonly seq: number },
): RunState {
  if (state.run?.runId === event.runId) return state.run;
  throw new TreadleError(
    'journal_corrupt',
    `Session ${state.sessionId}: event ${event.seq} (${event.type}) is of run ${event.runId}, which isn't open.`,
  );
}

/** Its open turn. */
export function openTurn(
  state: SessionState,
  event: { readonly runId: string; readonly type: string; readonly seq: number },
): TurnState {
  const { turn } = openRun(state, event);
  if (turn) return turn;
  throw new TreadleError(
    'journal_corrupt',
    `Session ${state.sessionId}: event ${event.seq} (${event.type}) belongs to a turn, and none is open.`,
  );
}

/** The call of that turn which the event names. */
export function callOf(
  state: SessionState,
  event: { readonly runId: string; readonly type: string; readonly seq: number; readonly callId: string },
): CallState {
  const { calls, ended } = openTurn(state, event);
  // Calls end about in their order, and a reply may have thousands: the search begins behind those that have ended.
  for (let step = 0; step < calls.length; step += 1) {
    const call = calls[(ended + step) % calls.length];
    if (call?.callId === event.callId) return call;
  }
  throw new TreadleError(
    'journal_corrupt',
    `Session ${state.sessionId}: event ${event.seq} (${event.type}) names the call ${event.callId}, which isn't in the turn.`,
  );
}

/** The calls that a message asks for, with nothing done about them yet. */
export const callsOf = ({ content }: AssistantMessage): CallState[] =>
  content.filter((block) => block.type === 'tool_call').map(callFrom);

const callFrom = ({ callId, name, arguments: args, problem }: ToolCallBlock): CallState => ({
  callId,
  name,
  arguments: args,
  problem,
  status: 'requested',
  epoch: 0,
  attempt: 0,
  runs: 'server',
  replay: 'never',
  approvalId: null,
  askedArguments: null,
  question: '',
  asked: 0,
  decision: null,
  decisionMessage: null,
  answer: null,
  result: null,
  childSessionId: null,
  paused: null,
  overruled: false,
  expiresAt: null,
  isForked: false,
});

/** The input is used up. */
export function consume(state: SessionState, inputSeq: number): void {
  if (state.inbox.length > 0) state.inbox = state.inbox.filter((entry) => entry.seq !== inputSeq);
}
