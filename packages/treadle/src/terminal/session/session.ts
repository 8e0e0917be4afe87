import type { DurableEvent, TreadleEvent, UserContent } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';

/**
 * A session as a terminal sees it, wherever it is driven: its events, and a way to say something. Everything on the screen is
 * made of the events.
 */
export interface TerminalSession {
  readonly id: string;
  /** Durable events in order, with the live ones between them; it ends when the session is left. */
  readonly events: AsyncIterable<TreadleEvent>;
  /** Durable events that were left out at the beginning, because the log is long. */
  readonly leftOut: number;
  /** The log from its first event. */
  history(): AsyncIterable<DurableEvent>;
  /**
   * Puts an input into the log, and has it acted on. `prompt`, `steering`, `follow_up`, `clear_queue`, `cancel`,
   * `approval_answer`, `client_tool_results`, `permission_updates`, `compact`, `rename`, `stop_task`.
   *
   * @throws TreadleError as the verbs of `Session` do: `conflict` for an approval that somebody else has answered.
   */
  post(input: SessionInput): Promise<void>;
  /** Goes on with a run that was cut off, or with a prompt that nobody has answered. */
  resume(): Promise<void>;
  /** True when there is something that nobody drives and nobody has to answer: `resume` goes on with it. */
  isCutOff(): Promise<boolean>;
  close(): Promise<void>;
}

/** A text as an input that somebody typed. */
export const typed = (type: 'steering' | 'follow_up', content: readonly UserContent[]): SessionInput => ({
  type,
  message: { content },
});

export const promptOf = (content: readonly UserContent[]): SessionInput => ({
  type: 'prompt',
  messages: [{ content }],
});

/** Whether an input came into the log. A failure is told to `fail`. */
export const isPosted = (sending: Promise<void>, fail: (error: unknown) => void): Promise<boolean> =>
  sending.then(
    () => true,
    (error: unknown) => {
      fail(error);
      return false;
    },
  );
