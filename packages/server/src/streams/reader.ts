import { TreadleError, type Clock, type DurableEvent, type Journal } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import type { Encoder, Frame, SessionSnapshot, StreamEnd, StreamEvent, StreamFormat } from '../encoders/encoder.ts';
import type { ServerLimits } from '../limits.ts';
import type { Follower, SessionFeed } from './feed.ts';
import { missedDeltas, trackPosition, type Position, type PositionTracker } from './position.ts';
import type { Scope } from './scope.ts';
import type { CloseReason, Sink } from './sink.ts';

export interface ReaderOptions {
  readonly sessionId: string;
  readonly runId?: string;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly feed: SessionFeed;
  readonly format: StreamFormat;
  readonly sink: Sink;
  readonly scope: Scope;
  readonly from: Position;
  /** What the ids end with. */
  readonly idSuffix: string;
  readonly resumed: boolean;
  readonly limits: ServerLimits;
  readonly snapshot: () => Promise<SessionSnapshot>;
  /** Told of failures that a client is only told the kind of. */
  readonly onError: (error: unknown) => void;
  /** Called when the reader goes away before the end of its stream. */
  readonly onGone?: (() => void) | undefined;
  /** Told when the reader is cut off. */
  readonly onSlow: () => void;
}

/**
 * Tells a connection of a session: first what the log has after its position, then what happens. It holds back for nobody:
 * a reader that has not taken what was written is told the rest from the log, once it has. One that takes nothing is let go of.
 */
export function openReader(options: ReaderOptions): { readonly end: (end: StreamEnd) => void } {
  const { sessionId, journal, feed, format, sink, scope, idSuffix } = options;
  const encoder = format.encoder();
  const position = trackPosition(options.from);
  /** The turn of the message that the reader knows a part of. */
  let turnIndex = 0;
  let closed = false;
  /** What happens is not told: it comes from the log, when the reader has caught up. */
  let behind = true;

  function write(frames: readonly Frame[]): void {
    if (closed || frames.length === 0) return;
    sink.send(frames, format.ids ? position.id() + idSuffix : null);
  }

  function show(event: StreamEvent): void {
    if (closed) return;
    try {
      write(framesOf(format, encoder, event));
    } catch (error) {
      fail(error);
    }
  }

  /** What is told of a durable event, and of the rest of a message that the reader knows the beginning of. */
  function tell(event: DurableEvent): void {
    const verdict = scope(event);
    const known = position.message;
    if (event.type === 'turn_started') ({ turnIndex } = event);
    if (known && verdict !== 'skip' && event.type === 'message_added' && event.message.id === known.messageId) {
      for (const delta of missedDeltas(event, known, turnIndex)) {
        position.delta(delta);
        show(delta);
      }
    }
    position.durable(event);
    if (verdict !== 'skip') show(event);
    if (verdict === 'last') end({ reason: 'finished' });
  }

  function live(event: LiveEvent): void {
    if (closed || scope(event) === 'skip' || isBehind()) return;
    const unseen = position.take(event);
    if (unseen) show(unseen);
  }

  /** Looked at before something is added: one event may be bigger than all that may wait. */
  function isBehind(): boolean {
    if (behind) return true;
    if (sink.buffered <= options.limits.streamBytes) return false;
    behind = true;
    feed.part(follower);
    fallBack().catch(fail);
    return true;
  }

  async function fallBack(): Promise<void> {
    if (await hasDrained(options)) await catchUp();
    else close('slow');
  }

  const follower: Follower = {
    durable(event) {
      if (closed || event.seq <= position.seq || isBehind()) return;
      tell(event);
    },
    live,
    recover() {
      for (const event of feed.openMessage()) live(event);
    },
    failed: fail,
  };

  async function begin(): Promise<void> {
    write(encoder.begin(startOf(options)));
    await recall(options, position);
    await catchUp();
  }

  async function catchUp(): Promise<void> {
    for (;;) {
      if (await isTooFarBehind(options, position)) {
        const snapshot = await options.snapshot();
        position.jump(snapshot.seq);
        show(snapshot);
      }
      for await (const event of journal.read(sessionId, position.seq + 1)) {
        if (closed) return;
        tell(event);
        if (sink.buffered > options.limits.streamBytes / 2 && !(await hasDrained(options))) close('slow');
      }
      if (closed) return;
      if (!feed.join(follower, position.seq)) continue;
      behind = false;
      return follower.recover();
    }
  }

  function fail(error: unknown): void {
    const isGone = error instanceof TreadleError && error.code === 'session_not_found';
    if (isGone) return end({ reason: 'removed' });
    options.onError(error);
    const code = error instanceof TreadleError ? error.code : 'internal';
    end({ reason: 'failed', code, message: error instanceof TreadleError ? error.message : 'The stream failed.' });
  }

  /** Ends it, telling the client why. */
  function end(why: StreamEnd): void {
    if (closed) return;
    try {
      write(encoder.end(why));
    } catch (error) {
      options.onError(error);
    }
    close(why.reason);
  }

  function close(reason: CloseReason): void {
    if (closed) return;
    leave();
    if (reason === 'slow') options.onSlow();
    sink.close(reason);
  }

  function leave(): void {
    if (closed) return;
    closed = true;
    feed.leave(follower);
  }

  sink.onClose(() => {
    if (!closed) options.onGone?.();
    leave();
  });
  begin().catch(fail);
  return { end };
}

/** The latest event of each stateless format: all who follow a session are told it one after the other. */
const latest = new WeakMap<StreamFormat, { readonly event: StreamEvent; readonly frames: readonly Frame[] }>();

function framesOf(format: StreamFormat, encoder: Encoder, event: StreamEvent): readonly Frame[] {
  if (format.stateless !== true) return encoder.event(event);
  const known = latest.get(format);
  if (known?.event === event) return known.frames;
  const frames = encoder.event(event);
  latest.set(format, { event, frames });
  return frames;
}

const startOf = ({ sessionId, runId, resumed }: ReaderOptions) => ({
  sessionId,
  resumed,
  ...(runId === undefined ? {} : { runId }),
});

/** How far back the end of the message before is looked for: a few calls may have begun since. */
const RECALLED_EVENTS = 8;

/** What the reader was told last: of a message that it has, another process may tell it late. */
async function recall({ journal, sessionId, from }: ReaderOptions, position: PositionTracker): Promise<void> {
  if (from.seq === 0 || from.message) return;
  for await (const event of journal.read(sessionId, Math.max(1, from.seq - RECALLED_EVENTS))) {
    if (event.seq > from.seq) break;
    position.passed(event);
  }
}

async function isTooFarBehind(
  { journal, sessionId, limits }: ReaderOptions,
  { seq }: PositionTracker,
): Promise<boolean> {
  if (!Number.isFinite(limits.replayEvents)) return false;
  for await (const _ of journal.read(sessionId, seq + limits.replayEvents + 1)) return true;
  return false;
}

/** Waits for a reader to take what was written, while it is told what is past. False when it takes too long. */
async function hasDrained({ sink, clock, limits }: ReaderOptions): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancel = clock.after(limits.streamStallMs, () => late.resolve(false), { background: true });
  return Promise.race([sink.drained().then(() => true), late.promise]).finally(cancel);
}
