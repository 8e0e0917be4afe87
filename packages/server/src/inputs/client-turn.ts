import type { ClientToolResult, OfferedTool, UserContent } from '@treadle/core';

/** What a request of a chat protocol asks of a session, whichever protocol it is. */
export interface ClientTurn {
  /** The client's name of the conversation: a session's id. */
  readonly threadId: string;
  /** What the user says now. Empty when the request only answers what the session waits for. */
  readonly prompt: readonly UserContent[];
  /** Results of tools that the client has run. Only those that the session waits for mean anything. */
  readonly results: readonly ClientToolResult[];
  /** Answers of a person to approvals. Only those that the session waits for mean anything. */
  readonly answers: readonly ApprovalDecision[];
  /** The conversation before that, in the shape of `session.importMessages`: for a session that is new here. */
  readonly history: readonly object[];
  /** True asks for another reply: `prompt` was answered before, and what came of it is to be forgotten. */
  readonly regenerate: boolean;
  /** Tools that the client offers to run. */
  readonly tools: readonly OfferedTool[];
}

/** A person's answer to an approval. */
export interface ApprovalDecision {
  readonly approvalId: string;
  readonly decision: 'approve' | 'reject';
  readonly message?: string;
}
