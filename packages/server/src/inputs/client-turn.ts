import type { ClientToolResult, JsonObject, OfferedTool, UserContent } from '@treadle/core';

/** What a request of a chat protocol asks of a session, whichever protocol it is. */
export interface ClientTurn {
  /** The client's name of the conversation: a session's id. */
  readonly threadId: string;
  /** The user's messages since the last reply, oldest first. Empty when the request only answers what the session waits for. */
  readonly prompt: readonly PromptMessage[];
  /** Results of tools that the client has run. Only those that the session waits for mean anything. */
  readonly results: readonly ClientToolResult[];
  /** Answers of a person to approvals. Only those that the session waits for mean anything. */
  readonly answers: readonly ApprovalDecision[];
  /** The conversation before that, in the shape of `session.importMessages`: for a session that is new here. */
  readonly history: readonly object[];
  /** Goes back to the last message of `prompt`, which was sent before: it was edited, or another reply is wanted. */
  readonly goBack: 'edited' | 'again' | null;
  /** Tools that the client offers to run. */
  readonly tools: readonly OfferedTool[];
  /** Facts from the application for the model; null for none. */
  readonly context: string | null;
  /** The state that the client shares with the tools; null for none. */
  readonly state: JsonObject | null;
  /** Data from the application about the run; null for none. */
  readonly metadata: JsonObject | null;
}

/** A message of the user. A client sends it again with the same id. */
export interface PromptMessage {
  readonly id: string | null;
  readonly content: readonly UserContent[];
}

/** A person's answer to an approval. */
export interface ApprovalDecision {
  readonly approvalId: string;
  readonly decision: 'approve' | 'reject';
  readonly message?: string;
}
