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

/** The exit code of a run that was not interrupted from outside. */
export function exitCodeOf(end: RunResult['status'], wasRefused: boolean): number {
  switch (end) {
    case 'completed':
      return wasRefused ? EXIT.permission : EXIT.done;
    case 'turn_limit':
    case 'tool_turn_limit':
      return EXIT.turnLimit;
    case 'token_limit':
      return EXIT.tokenLimit;
    case 'time_limit':
      return EXIT.timeLimit;
    case 'budget_limit':
      return EXIT.budgetLimit;
    case 'tool_call_limit':
      return EXIT.toolCallLimit;
    case 'loop_detected':
      return EXIT.loopDetection;
    case 'context_limit':
      return EXIT.contextLimit;
    case 'reply_limit':
    case 'thinking_limit':
    case 'arguments_limit':
      return EXIT.replyLimit;
    case 'paused':
      return EXIT.permission;
    case 'model_error':
    case 'aborted':
    case 'refused':
    case 'length':
    case 'rejected':
    case 'stopped':
    case 'invalid_output':
    case 'guardrail_failed':
      return EXIT.error;
  }
}
