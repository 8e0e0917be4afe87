import type { LiveEvent, TreadleEvent } from '../events/events.ts';
import type { OpenMessage } from './open-message.ts';

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
  follow(follower: Follower | null): void;
  /** Returns a function that ends the subscription. */
  subscribe(observer: Observer): () => void;
  setOpenMessage(message: OpenMessage | null): void;
  /** The message being streamed, from its beginning, for a watcher who joins now. */
  openMessage(): LiveEvent[];
}

/** `onError` hears of observers that threw or rejected; `watcher`, if there is one, never throws. */
export function createHub(onError: (error: unknown) => void, watcher: Watcher | null = null): Hub {
  // Replaced, never changed: an observer that leaves or joins while it is told changes nothing for the others.
  let observers: readonly Observer[] = [];
  let follower: Follower | null = null;
  let open: OpenMessage | null = null;
  const report = (error: unknown): void => {
    try {
      onError(error);
    } catch {
      // Whoever hears of failures has failed: there is nobody left to tell, and the run goes on.
    }
  };
  return {
    isObserved: () => observers.length > 0 || follower?.isWatched() === true || watcher?.isWatching() === true,
    emit(event) {
      follower?.take(event);
      if (watcher?.isWatching() === true) watcher.take(event);
      for (const observer of observers) {
        try {
          const returned = observer(event);
          if (returned instanceof Promise) returned.catch(report);
        } catch (error) {
          report(error);
        }
      }
    },
    follow(next) {
      follower = next;
    },
    subscribe(observer) {
      // A function of its own, so that the same observer may be subscribed twice.
      const own: Observer = (event) => observer(event);
      observers = [...observers, own];
      return () => {
        observers = observers.filter((other) => other !== own);
      };
    },
    setOpenMessage(message) {
      open = message;
    },
    openMessage: () => open?.replay() ?? [],
  };
}
