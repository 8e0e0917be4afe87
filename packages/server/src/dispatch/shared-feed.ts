import { isDurable, type Clock, type TreadleEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import { isJsonObject, parseJson } from '@treadle/core/json';
import type { LiveBus, LiveFeed } from '@treadle/core/ports';

/** Options of {@link sharedFeed}. */
export interface SharedFeedOptions {
  /** What is told in this process. */
  readonly live: LiveFeed;
  /** The way to the other processes. It stays yours to close. */
  readonly bus: LiveBus;
  readonly clock: Clock;
}

/** The live events of sessions, whichever process drives them. */
export interface SharedFeed extends LiveFeed {
  /** Sends nothing more, and tells nothing of others. */
  stop(): void;
}

/** Deltas wait so long for others, and go together. */
const PAUSE_MS = 40;
/** How often a reader says that it is still there. */
const RENEW_MS = 4000;
/** A reader that has said nothing for so long is gone. */
const GONE_MS = 10_000;

/**
 * What a session's readers lack: the number of the last text they have, and who sent it. A number that doesn't fit brings the
 * open message from its beginning.
 */
type Want = readonly [sessionId: string, from: string | null, last: number];
/** The events of a session, in their order. `whole`: they begin with the open message. */
type Told = readonly [sessionId: string, number: number, events: readonly LiveEvent[], whole: boolean];
interface Text {
  readonly want?: readonly Want[];
  readonly live?: readonly Told[];
}

/** A session that somebody reads here. */
interface Reading {
  readonly listeners: Set<readonly [tell: (event: TreadleEvent) => void]>;
  from: string | null;
  last: number;
}

/** A process that has readers of a session. */
interface Reader {
  until: number;
  last: number;
  whole: boolean;
  waiting: LiveEvent[];
}

/** A session that is read elsewhere. */
interface Shown {
  readonly readers: Map<string, Reader>;
  readonly stop: () => void;
}

/**
 * A feed of sessions that are driven in this process or in another one. A reader says to all processes what it reads; whoever
 * drives it sends the open message from its beginning, and then what comes. Texts have numbers: after a gap the message
 * comes from its beginning again, and readers take of it what they lack.
 */
export function sharedFeed({ live, bus, clock }: SharedFeedOptions): SharedFeed {
  const readings = new Map<string, Reading>();
  const shown = new Map<string, Shown>();
  /** Sessions to be asked for, and whether from the beginning of their open messages. */
  const asking = new Map<string, boolean>();
  let stopped = false;
  let sending = false;
  let stopPause = (): void => {};
  let stopRenewing = (): void => {};

  function sendSoon(): void {
    if (stopped || sending) return;
    sending = true;
    stopPause = clock.after(PAUSE_MS, () => void sendAll(), { background: true });
  }

  /** One after the other: when the way is slow, more goes together. */
  async function sendAll(): Promise<void> {
    const texts: [Text, string?][] = [...told()].map(([reader, all]) => [{ live: all }, reader]);
    if (asking.size > 0) texts.push([{ want: [...asking].map(wantOf) }]);
    asking.clear();
    for (const [text, to] of texts) await bus.send(JSON.stringify(text), to);
    sending = false;
    if (asking.size > 0 || isWaiting()) sendSoon();
  }

  const wantOf = ([sessionId, whole]: readonly [string, boolean]): Want => {
    const { from = null, last = 0 } = readings.get(sessionId) ?? {};
    return [sessionId, from, whole ? -1 : last];
  };

  const isWaiting = (): boolean =>
    [...shown.values()].some(({ readers }) => [...readers.values()].some((one) => one.whole || one.waiting.length > 0));

  /** What is to be sent to each reader, which counts as sent. */
  function told(): Map<string, Told[]> {
    const all = new Map<string, Told[]>();
    for (const [sessionId, { readers }] of shown) {
      for (const [id, reader] of readers) {
        const { whole, waiting } = reader;
        // What waits is in the open message, too.
        const message = whole ? live.openMessage(sessionId).map(withoutPartial) : [];
        const events = whole ? [...waiting.filter((event) => !isOfMessage(event)), ...message] : waiting;
        Object.assign(reader, { whole: false, waiting: [] });
        if (events.length === 0) continue;
        reader.last += 1;
        all.set(id, [...(all.get(id) ?? []), [sessionId, reader.last, events, whole]]);
      }
    }
    return all;
  }

  function show(sessionId: string): Shown {
    let one = shown.get(sessionId);
    if (!one) {
      const readers = new Map<string, Reader>();
      const stop = live.subscribe(sessionId, (event) => {
        // Readers have the log.
        if (isDurable(event)) return;
        for (const reader of readers.values()) addTo(reader.waiting, event);
        if (readers.size > 0) sendSoon();
      });
      one = { readers, stop };
      shown.set(sessionId, one);
    }
    return one;
  }

  function wanted(reader: string, [sessionId, from, last]: Want): void {
    const { readers } = show(sessionId);
    const known = readers.get(reader) ?? { until: 0, last: 0, whole: false, waiting: [] };
    readers.set(reader, known);
    known.until = clock.now() + GONE_MS;
    if (from === bus.id && last === known.last) return;
    if (live.openMessage(sessionId).length === 0) return;
    known.whole = true;
    sendSoon();
  }

  function forgetGone(): void {
    const now = clock.now();
    for (const [sessionId, { readers, stop }] of shown) {
      for (const [id, { until }] of readers) if (until < now) readers.delete(id);
      if (readers.size > 0) continue;
      stop();
      shown.delete(sessionId);
    }
  }

  function heard(text: string, from: string): void {
    const said = parsedText(text);
    // Another version's, or nobody's.
    if (!isJsonObject(said)) return;
    for (const one of listOf(said['want'], isWant)) wanted(from, one);
    for (const one of listOf(said['live'], isTold)) take(from, one);
  }

  function take(from: string, [sessionId, number, events, whole]: Told): void {
    const reading = readings.get(sessionId);
    if (!reading) return;
    const next = reading.from === from ? reading.last + 1 : 1;
    // Something was lost before it. All of the message comes, once it is asked for.
    if (!whole && number !== next) return ask(sessionId, true);
    Object.assign(reading, { from, last: number });
    for (const event of events) for (const [tell] of reading.listeners) tell(event);
  }

  function ask(sessionId: string, whole: boolean): void {
    asking.set(sessionId, whole || asking.get(sessionId) === true);
    sendSoon();
  }

  function renew(): void {
    forgetGone();
    for (const sessionId of readings.keys()) ask(sessionId, false);
    stopRenewing = clock.after(RENEW_MS, renew, { background: true });
  }

  const stopListening = bus.listen(heard);
  renew();
  return {
    subscribe(sessionId, tell) {
      const reading = readings.get(sessionId) ?? { listeners: new Set(), from: null, last: 0 };
      readings.set(sessionId, reading);
      const listener = [tell] as const;
      reading.listeners.add(listener);
      const stop = live.subscribe(sessionId, tell);
      ask(sessionId, false);
      return () => {
        stop();
        reading.listeners.delete(listener);
        if (reading.listeners.size === 0 && readings.get(sessionId) === reading) readings.delete(sessionId);
      };
    },
    openMessage(sessionId) {
      const own = live.openMessage(sessionId);
      // One that is open elsewhere is told again, from its beginning.
      if (own.length === 0 && readings.has(sessionId)) ask(sessionId, true);
      return own;
    },
    stop() {
      stopped = true;
      stopPause();
      stopRenewing();
      stopListening();
      for (const { stop } of shown.values()) stop();
      shown.clear();
      readings.clear();
    },
  };
}

const isOfMessage = ({ type }: LiveEvent): boolean => type === 'message_started' || type === 'message_delta';

/** What can be read of half an argument is in the text, too. */
function withoutPartial(event: LiveEvent): LiveEvent {
  if (event.type !== 'message_delta' || !('partial' in event)) return event;
  const { partial: _, ...rest } = event;
  return rest;
}

/** Adds an event; what a block says is put together. */
function addTo(waiting: LiveEvent[], event: LiveEvent): void {
  const before = waiting.at(-1);
  const added = withoutPartial(event);
  const goesOn =
    before?.type === 'message_delta' &&
    added.type === 'message_delta' &&
    before.messageId === added.messageId &&
    before.attempt === added.attempt &&
    before.index === added.index &&
    before.offset + before.text.length === added.offset;
  if (goesOn) waiting[waiting.length - 1] = { ...before, text: before.text + added.text };
  else waiting.push(added);
}

/** Of what another process has sent: those that have the shape of this version. */
function listOf<Value>(value: unknown, is: (one: unknown) => one is Value): readonly Value[] {
  return Array.isArray(value) ? value.filter(is) : [];
}

const partsOf = (one: unknown): readonly unknown[] => (Array.isArray(one) ? (one as unknown[]) : []);

function isWant(one: unknown): one is Want {
  const [sessionId, from, last] = partsOf(one);
  return typeof sessionId === 'string' && (from === null || typeof from === 'string') && Number.isInteger(last);
}

function isTold(one: unknown): one is Told {
  const [sessionId, number, events, whole] = partsOf(one);
  const isNamed = typeof sessionId === 'string' && Number.isInteger(number) && typeof whole === 'boolean';
  return isNamed && Array.isArray(events) && events.every(isLive);
}

/** A live event: whatever is durable is in the log, and nowhere else. */
function isLive(event: unknown): event is LiveEvent {
  if (!isJsonObject(event) || 'seq' in event || typeof event['type'] !== 'string') return false;
  return event['type'] !== 'message_delta' || (typeof event['text'] === 'string' && Number.isInteger(event['offset']));
}

function parsedText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
