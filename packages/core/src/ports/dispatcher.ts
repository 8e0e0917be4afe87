import type { LiveEvent, TreadleEvent } from '../events/events.ts';

/**
 * Has sessions driven: at least once after each wish, one drive at a time per session, and again after the death of whoever
 * drove. Whoever posts an input to a session wakes it this way.
 */
export interface Dispatcher {
  /** Asks for a session to be driven until it waits or is idle. Resolves once the wish can't get lost; never waits for the drive. */
  dispatch(sessionId: string): Promise<void>;
}

/** What is told of sessions while they are driven: the deltas of the open message, to readers of the log. */
export interface LiveFeed {
  /**
   * Calls `listener` with the events of a session as they happen: the live ones, and the durable ones too where they come
   * this way, each after those before it. Where nobody drives the session nothing comes. Returns a function that ends it.
   */
  subscribe(sessionId: string, listener: (event: TreadleEvent) => void): () => void;
  /** The message that is being streamed, from its beginning, as live events; empty when there is none. */
  openMessage(sessionId: string): readonly LiveEvent[];
}
