import type { StopReason } from '@agentclientprotocol/sdk';
import type { RunStatus } from '@treadle/core';

/** Why a prompt is over, in the words of the protocol. Null for a failure, which is answered with an error. */
export const STOP_REASONS: Readonly<Record<RunStatus, StopReason | null>> = {
  completed: 'end_turn',
  stopped: 'end_turn',
  invalid_output: 'end_turn',
  guardrail_failed: 'end_turn',
  refused: 'refusal',
  rejected: 'refusal',
  aborted: 'cancelled',
  length: 'max_tokens',
  token_limit: 'max_tokens',
  context_limit: 'max_tokens',
  reply_limit: 'max_tokens',
  thinking_limit: 'max_tokens',
  arguments_limit: 'max_tokens',
  turn_limit: 'max_turn_requests',
  tool_turn_limit: 'max_turn_requests',
  tool_call_limit: 'max_turn_requests',
  time_limit: 'max_turn_requests',
  budget_limit: 'max_turn_requests',
  loop_detected: 'max_turn_requests',
  model_error: null,
};
