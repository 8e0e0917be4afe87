import type { RunResult } from '@treadle/core';

import type { InterruptSignal } from './io.ts';

/** How the command ends. The help and `docs/command-line.md` list these. */
export const EXIT = {
  done: 0,
  error: 1,
  usage: 2,
  /** Of turns, in which tools were called or not. */
  turnLimit: 3,
  permission: 4,
  tokenLimit: 5,
  timeLimit: 6,
  budgetLimit: 7,
  toolCallLimit: 8,
  loopDetection: 9,
  contextLimit: 10,
  /** Of the size of a reply, of its thinking, or of the arguments of a call. */
  replyLimit: 11,
  /** 128 and the number of SIGPIPE, as for any program whose reader left. */
  closedPipe: 141,
} as const;

/** 128 and the signal's number, as shells have it. */
export const SIGNAL_EXIT: Readonly<Record<InterruptSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

const ENDS: Readonly<Record<RunResult['status'], number>> = {
  completed: EXIT.done,
  turn_limit: EXIT.turnLimit,
  tool_turn_limit: EXIT.turnLimit,
  token_limit: EXIT.tokenLimit,
  time_limit: EXIT.timeLimit,
  budget_limit: EXIT.budgetLimit,
  tool_call_limit: EXIT.toolCallLimit,
  loop_detected: EXIT.loopDetection,
  context_limit: EXIT.contextLimit,
  reply_limit: EXIT.replyLimit,
  thinking_limit: EXIT.replyLimit,
  arguments_limit: EXIT.replyLimit,
  paused: EXIT.permission,
  model_error: EXIT.error,
  aborted: EXIT.error,
  refused: EXIT.error,
  length: EXIT.error,
  rejected: EXIT.error,
  stopped: EXIT.error,
  invalid_output: EXIT.error,
  guardrail_failed: EXIT.error,
};

/** The exit code of a run that was not interrupted from outside. */
export const exitCodeOf = (end: RunResult['status'], wasRefused: boolean): number =>
  end === 'completed' && wasRefused ? EXIT.permission : ENDS[end];
