import type { Journal, TreadleEvent } from '@treadle/core';
import type { LiveFeed } from '@treadle/core/ports';
import { createFeeds, type Follower } from './feed.ts';
import { BEGINNING, trackPosition } from './position.ts';

/** Options of {@link followSession}. */
export interface FollowOptions {
  readonly sessionId: string;
  readonly journal: Journal;
  /** Live text: of this process, or with {@link sharedFeed} of others, too. */
  readonly live: LiveFeed;
  /** The number of the first event. Default 1: the whole log. */
  readonly from?: number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * A session's events, whoever drives it: first its log, then what happens. Live events stand between the durable ones where
 * they belong, and each piece of text comes once.
 *
 * @throws what `journal.read` throws, when the log can't be read any more
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { followSession } from '@treadle/server/live';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
 * const live = {
 *   subscribe: (_: string, tell: Parameters<typeof session.subscribe>[0]) => session.subscribe(tell),
 *   openMessage: () => session.openMessage(),
 * };
 * void session.prompt('Hi.').result;
 * const { signal } = new AbortController();
 * for await (const event of followSession({ sessionId: session.id, journal, live, signal })) {
 *   if (event.type === 'message_delta') console.log(event.text); // Hello.
 *   if (event.type === 'run_ended') break;
 * }
 * ```
 */
export async function* followSession(options: FollowOptions): AsyncGenerator<TreadleEvent> {
  const { sessionId, journal, live, from = 1, signal } = options;
  const feed = createFeeds({ journal, live }).of(sessionId);
  const position = trackPosition({ ...BEGINNING, seq: from - 1 });
  const waiting: TreadleEvent[] = [];
  let wake = Promise.withResolvers<void>();
  const failure: unknown[] = [];
  const push = (event: TreadleEvent): void => {
    waiting.push(event);
    wake.resolve();
  };
  const follower: Follower = {
    durable(event) {
      if (event.seq <= position.seq) return;
      position.durable(event);
      push(event);
    },
    live(event) {
      const unseen = position.take(event);
      if (unseen) push(unseen);
    },
    recover() {
      for (const event of feed.openMessage()) follower.live(event);
    },
    failed(error) {
      failure.push(error);
      wake.resolve();
    },
  };
  const stop = (): void => wake.resolve();
  signal.addEventListener('abort', stop);
  try {
    do {
      for await (const event of journal.read(sessionId, position.seq + 1)) {
        position.durable(event);
        yield event;
        if (signal.aborted) return;
      }
    } while (!feed.join(follower, position.seq));
    follower.recover();
    while (!signal.aborted) {
      const next = waiting.shift();
      if (next) yield next;
      else if (failure.length > 0) throw failure[0];
      else {
        wake = Promise.withResolvers();
        await wake.promise;
      }
    }
  } finally {
    signal.removeEventListener('abort', stop);
    feed.leave(follower);
  }
}
