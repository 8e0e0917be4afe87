import { jsonText } from './json-text.ts';

/**
 * Stable codes of the errors Treadle throws at its public edge. A code never changes its meaning; new ones are added.
 */
export type TreadleErrorCode =
  /** `prompt`, `continue`, `reset` or an import during a run of this session. Steer, follow up, or wait. */
  | 'run_active'
  /** `continue` on a session without messages. */
  | 'nothing_to_continue'
  /** `continue` on a history whose last message is the assistant's. */
  | 'ends_with_assistant'
  /** A prompt without content. */
  | 'empty_prompt'
  /** A session that was closed here. Open it again with `openSession`. */
  | 'session_closed'
  /** `text`, `output`, `status` and the like of a run, which its `result` has once it is awaited. */
  | 'result_not_awaited'
  /** Another drive holds the session. The message names its owner. */
  | 'session_busy'
  /** A newer drive took the session over; this one may write nothing any more. */
  | 'fenced'
  /** `yield` gave the session up amid a run, which goes on where the session is driven next. */
  | 'session_yielded'
  /** The agent that a session was made with isn't known where it is to be driven. */
  | 'agent_not_found'
  /** No session with that id. */
  | 'session_not_found'
  /** A session with that id exists already. */
  | 'session_exists'
  /** A run that was aborted before its first message came. */
  | 'cancelled'
  /** A definition (agent, tool, limit) that can't work. */
  | 'invalid_definition'
  /** A file that can't be a part of a message: unreadable, too large, or of no kind that models take. */
  | 'invalid_attachment'
  /** Imported or posted messages that don't have the shape of messages. */
  | 'invalid_messages'
  /** Tool results while no call of a client's waits for any. */
  | 'not_awaiting'
  /** No background task with that id, or none that this process could do anything about. */
  | 'task_not_found'
  /** Tool results that leave out calls that wait. The message names them. */
  | 'results_missing'
  /** Tool results for calls that this session never had. The message names them. */
  | 'results_unknown'
  /** Two results for the same call. */
  | 'results_duplicate'
  /** An answer that comes too late: another one came first, its time is over, the run has ended, or nobody asked. */
  | 'conflict'
  /** An answer token that was not issued with this key for this session, or was changed. */
  | 'invalid_token'
  /** An answer token whose time is over. */
  | 'token_expired'
  /** A function `instructions` that failed, or said no text. No model was asked. */
  | 'instructions_failed'
  /** Branches of which none could be selected. */
  | 'not_selected'
  /** Answers that don't answer the questions of an `ask_user` call. The message says which, and why. */
  | 'invalid_answer'
  /** A conversation that could not be made smaller; the message says why. It is as it was. */
  | 'not_compacted'
  /** A journal written by a newer version of Treadle. It is left untouched. */
  | 'journal_too_new'
  /** Stored bytes that fail their check. */
  | 'journal_corrupt'
  /** The journal could not write. Nothing after the last acknowledged event happened. */
  | 'journal_failed'
  /** The journal has not answered in time. Whether it did what it was asked for is unknown. */
  | 'journal_timeout'
  /** No blob with that id. */
  | 'blob_not_found'
  /** A blob whose bytes don't fit its id. */
  | 'blob_corrupt'
  /** More bytes than may be kept as one blob. */
  | 'blob_too_large'
  /** Blobs could not be read or written where they are kept. */
  | 'blob_failed'
  /** JSON with more levels of objects and arrays than are taken: `MAX_JSON_DEPTH`. */
  | 'json_too_deep'
  /** Something inside Treadle that should be impossible. Please report it. */
  | 'internal';

/**
 * The error class of Treadle's public edge. Inside the loop errors are data; this is thrown only to callers.
 *
 * @example
 * ```ts
 * import { TreadleError } from '@treadle/core';
 *
 * const error = new TreadleError('run_active', 'A run is active. Use steer() or followUp().');
 * console.log(error.code); // run_active
 * ```
 */
export class TreadleError extends Error {
  readonly code: TreadleErrorCode;
  /** Machine-readable facts about the failure, safe to log. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: TreadleErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TreadleError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** The section on this code, in the repository and in this package: `docs/errors.md#run_active`. */
  get docs(): string {
    return `docs/errors.md#${this.code}`;
  }
}

/** The text of anything that was thrown: an `Error`, a string, an object, even `undefined`. Never throws itself. */
export function errorText(thrown: unknown): string {
  try {
    // The fields of an error are somebody's code too: a message may be anything, or a getter that throws.
    const said: unknown = thrown instanceof Error ? thrown.message || thrown.name : thrown;
    if (typeof said === 'string') return said;
    // Functions and symbols have no JSON.
    return jsonText(said) ?? (said === undefined ? 'undefined was thrown' : `a ${typeof said} was thrown`);
  } catch {
    return 'a value that can not be printed was thrown';
  }
}
