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

/**
 * Carries live events between the processes that share a journal. It is never the truth: what it loses is motion on a screen,
 * until the message is in the log.
 */
export interface LiveBus {
  /** This process, as the others know it. */
  readonly id: string;
  /**
   * Sends a text to one of the others, or to all of them. What one sends to another comes in its order, or not at all. Resolves
   * when there is room for more, and never rejects.
   */
  send(text: string, to?: string): Promise<void>;
  /** Calls `heard` with what others send, and with who they are. Returns a function that ends it. */
  listen(heard: (text: string, from: string) => void): () => void;
  /** Lets go of connections. Nothing is sent or heard any more. */
  close(): Promise<void>;
}
