import type { LiveEvent, TreadleEvent } from '../../events/events.ts';
import type { OpenMessage } from '../perform/open-message.ts';

/** Told of events. What it returns or throws changes nothing. */
export type Observer = (event: TreadleEvent) => unknown;

/** The run that is being driven: it takes every event for its result, and is watched while somebody iterates it. */
export interface Follower {
  isWatched(): boolean;
  take(event: TreadleEvent): void;
}

/** Whoever watches a session from outside it: those who watch its parent. */
export interface Watcher {
  isWatching(): boolean;
  take(event: TreadleEvent): void;
}

/** Where a session's events go out. Observers decide nothing, so nothing waits for them. */
export interface Hub {
  /** False while nobody watches, so that live events needn't be made. */
  isObserved(): boolean;
  emit(event: TreadleEvent): void;
  /** Tells the developer that code of the application's failed. */
  report(error: unknown): void;
  follow(follower: Follower | null): void;
  /** Returns a function that ends the subscription. */
  subscribe(observer: Observer): () => void;
  setOpenMessage(message: OpenMessage | null): void;
  /** The message being streamed, from its beginning, for a watcher who joins now. */
  openMessage(): LiveEvent[];
}

/** `onError` hears of observers that threw or rejected; `watcher`, if there is one, never throws. */
export const createHub = (onError: (error: unknown) => void, watcher: Watcher | null = null): Hub =>
  new SessionHub(onError, watcher);

class SessionHub implements Hub {
  readonly #onError: (error: unknown) => void;
  readonly #watcher: Watcher | null;
  /** Replaced, never changed: an observer that leaves or joins while it is told changes nothing for the others. */
  #observers: readonly Observer[] = [];
  #follower: Follower | null = null;
  #open: OpenMessage | null = null;

  constructor(onError: (error: unknown) => void, watcher: Watcher | null) {
    this.#onError = onError;
    this.#watcher = watcher;
  }

  isObserved(): boolean {
    return this.#observers.length > 0 || this.#follower?.isWatched() === true || this.#watcher?.isWatching() === true;
  }
  emit(event: TreadleEvent): void {
    this.#follower?.take(event);
    if (this.#watcher?.isWatching() === true) this.#watcher.take(event);
    for (const observer of this.#observers) this.#tell(observer, event);
  }
  follow(follower: Follower | null): void {
    this.#follower = follower;
  }
  subscribe(observer: Observer): () => void {
    // A function of its own, so that the same observer may be subscribed twice.
    const own: Observer = (event) => observer(event);
    this.#observers = [...this.#observers, own];
    return () => {
      this.#observers = this.#observers.filter((other) => other !== own);
    };
  }
  setOpenMessage(message: OpenMessage | null): void {
    this.#open = message;
  }
  openMessage(): LiveEvent[] {
    return this.#open?.replay() ?? [];
  }

  #tell(observer: Observer, event: TreadleEvent): void {
    try {
      const returned = observer(event);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.report(error));
    } catch (error) {
      this.report(error);
    }
  }
  report(error: unknown): void {
    try {
      this.#onError(error);
    } catch {
      // Whoever hears of failures has failed: there is nobody left to tell, and the run goes on.
    }
  }
}
