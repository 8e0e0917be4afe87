import type { LiveEvent, TreadleEvent } from '../events/events.ts';
import type { OpenMessage } from './open-message.ts';

/** Told of events. What it returns or throws changes nothing. */
export type Observer = (event: TreadleEvent) => unknown;

/** Where a session's events go out. Observers decide nothing, so nothing waits for them. */
export interface Hub {
  readonly observed: boolean;
  emit(event: TreadleEvent): void;
  /** Returns a function that ends the subscription. */
  subscribe(observer: Observer): () => void;
  setOpenMessage(message: OpenMessage | null): void;
  /** The message being streamed, from its beginning, for a watcher who joins now. */
  openMessage(): LiveEvent[];
}

/** `onError` hears of observers that threw or rejected; it must not throw. */
export function createHub(onError: (error: unknown) => void): Hub {
  // Replaced, never changed: an observer that leaves or joins while it is told changes nothing for the others.
  let observers: readonly Observer[] = [];
  let open: OpenMessage | null = null;
  return {
    get observed() {
      return observers.length > 0;
    },
    emit(event) {
      for (const observer of observers) {
        try {
          const returned = observer(event);
          if (returned instanceof Promise) returned.catch(onError);
        } catch (error) {
          onError(error);
        }
      }
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
