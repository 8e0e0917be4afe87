import { isDurable, type DurableEvent, type Journal, type TreadleEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import type { LiveFeed } from '@treadle/core/ports';

/** A reader that has caught up with its session's log. */
export interface Follower {
  durable(event: DurableEvent): void;
  live(event: LiveEvent): void;
  /** Something live may have been passed over: whatever it lacks of the open message is to be told now. */
  recover(): void;
  /** The log can't be read any more. */
  failed(error: unknown): void;
}

/** One session's events, for all who follow it in this process. What comes in is looked at once, however many follow. */
export interface SessionFeed {
  /**
   * Lets a reader follow that has all events up to `seq`. False when there are more to be read first; asked again after
   * reading them it says so until the reader has what there is.
   */
  join(follower: Follower, seq: number): boolean;
  /** The message that is being streamed, from its beginning. */
  openMessage(): readonly LiveEvent[];
  /** Stops following for a while: the reader joins again. */
  part(follower: Follower): void;
  /** Gives up the place that was taken when the feed was asked for, whether the reader followed or not. */
  leave(follower: Follower): void;
}

interface FeedOptions {
  readonly journal: Journal;
  readonly live: LiveFeed;
  /** What events are shown as; they come from the journal clean, and live ones mayn't. */
  readonly clean?: (event: LiveEvent) => LiveEvent;
}

/** Live events that replace the one before. */
const LATEST = { tool_update: true, tool_progress: true, task_progress: true, status: true } as const;

const keyOf = (event: LiveEvent): string =>
  `${event.type} ${'callId' in event ? event.callId : 'taskId' in event ? event.taskId : ''}`;

interface Feed extends SessionFeed {
  users: number;
}

/** The feeds of all sessions that somebody follows. */
export function createFeeds(options: FeedOptions) {
  const feeds = new Map<string, Feed>();
  return {
    /** Feeds that are open. */
    get size(): number {
      return feeds.size;
    },
    /** The feed of a session. Each one that is asked for is to be left. */
    of(sessionId: string): SessionFeed {
      let feed = feeds.get(sessionId);
      if (!feed) {
        feed = openFeed(sessionId, options, () => feeds.delete(sessionId));
        feeds.set(sessionId, feed);
      }
      feed.users += 1;
      return feed;
    },
  };
}

function openFeed(sessionId: string, options: FeedOptions, closed: () => void): Feed {
  const { journal, live, clean = (event) => event } = options;
  let followers: readonly Follower[] = [];
  /** What those who follow have all been told. */
  let told = 0;
  /** What the log is said to have. */
  let heard = 0;
  let reading = false;
  let checking = false;
  let skipped = false;
  /** What was passed over, of each kind and call the newest. */
  const held = new Map<string, LiveEvent>();
  let lost = false;

  function offer(event: DurableEvent): void {
    if (event.seq !== told + 1) return;
    told = event.seq;
    // A call, a task or a run that has ended shows nothing more.
    if (event.type === 'run_ended') held.clear();
    if (event.type === 'tool_ended' || event.type === 'tool_call_rejected') forget(event.callId);
    if (event.type === 'task_updated' && event.status !== 'running') forget(event.taskId);
    for (const follower of followers) follower.durable(event);
  }

  const forget = (id: string): void => {
    for (const type of Object.keys(LATEST)) held.delete(`${type} ${id}`);
  };

  function take(event: TreadleEvent): void {
    if (isDurable(event)) {
      heard = Math.max(heard, event.seq);
      if (followers.length === 0) return;
      if (event.seq > told + 1) void readNews();
      else offer(event);
      return;
    }
    if (followers.length === 0) return;
    // Out of its place it would be wrong. The next look at the message has its text; the newest of the rest follows once the
    // log has come so far.
    if (event.afterSeq > told || reading) {
      skipped = true;
      if (event.type in LATEST) held.set(keyOf(event), event);
    } else {
      const shown = clean(event);
      for (const follower of followers) follower.live(shown);
    }
    if (skipped && !reading) void readNews();
  }

  async function readNews(): Promise<void> {
    if (reading) return;
    reading = true;
    try {
      for (let behind = true; behind && followers.length > 0;) {
        const before = told;
        for await (const event of journal.read(sessionId, told + 1)) offer(event);
        // What was announced and isn't there never will be.
        if (told === before) heard = Math.min(heard, told);
        behind = heard > told;
      }
    } catch (error) {
      for (const follower of followers) follower.failed(error);
    } finally {
      reading = false;
    }
    if (!skipped) return;
    skipped = false;
    for (const follower of followers) follower.recover();
    // Of one whose place the log has not come to, something newer comes.
    const again = [...held.values()].filter(({ afterSeq }) => afterSeq <= told);
    held.clear();
    for (const event of again) take(event);
  }

  /** A drive in this process tells of its own events a moment after the journal does; only those of others are to be read. */
  function grew(seq: number): void {
    // Said again without being more, the log was removed, or somebody looked twice: reading tells.
    if (seq <= heard) lost = true;
    heard = Math.max(heard, seq);
    if (checking || followers.length === 0) return;
    checking = true;
    setImmediate(() => {
      checking = false;
      if (lost || heard > told) void readNews();
      lost = false;
    });
  }

  const stops = [journal.watch(sessionId, grew), live.subscribe(sessionId, take)];
  const feed: Feed = {
    users: 0,
    join(follower, seq) {
      if (heard > seq || (followers.length > 0 && told > seq)) {
        heard = Math.max(told, Math.min(heard, seq));
        return false;
      }
      if (followers.length === 0) told = seq;
      heard = Math.max(heard, seq);
      followers = [...followers, follower];
      return true;
    },
    part(follower) {
      followers = followers.filter((other) => other !== follower);
    },
    leave(follower) {
      feed.part(follower);
      feed.users -= 1;
      if (feed.users > 0) return;
      for (const stop of stops) stop();
      closed();
    },
    openMessage: () => live.openMessage(sessionId),
  };
  return feed;
}
