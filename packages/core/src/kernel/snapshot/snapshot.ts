import type { DurableEvent } from '../../events/events.ts';
import { EVENT_VERSION } from '../../events/version.ts';
import type { Snapshot } from '../../journal/journal.ts';
import { MAX_ENVELOPE_DEPTH, parseJson } from '../../json.ts';
import { createDigest } from '../../digest.ts';
import type { SessionState } from '../state.ts';

/**
 * The version of `SessionState` and of what `reduce` makes of events. Raise it whenever the same log folds to another
 * state, or the state has other fields: snapshots of before are passed over then, and logs folded anew. A test compares
 * the states of the corpus with those that this number was given for.
 */
export const STATE_VERSION = 10;

/** What stands before the state. A snapshot in which any of it is otherwise is none. */
interface Head {
  readonly state: number;
  readonly events: number;
  /** Of the state's own text. */
  readonly sum: string;
  /** Of the last event folded in: a log that has another one there is another log. */
  readonly event: string;
}

const MAPS = ['ordinals', 'decisions', 'slots', 'reads'] as const;

/** A state as text, with the checks that tell whether it may be used. `last` is the last event folded into it. */
export function encodeState(state: SessionState, last: DurableEvent): Snapshot {
  const { sessionId: _, ...kept } = state;
  const body = JSON.stringify({
    ...kept,
    ...Object.fromEntries(MAPS.map((name) => [name, [...state[name]]])),
    tasks: state.tasks ? { all: [...state.tasks.all], open: [...state.tasks.open] } : undefined,
  });
  const head: Head = { state: STATE_VERSION, events: EVENT_VERSION, sum: digestOf(body), event: digestOfEvent(last) };
  return { seq: state.seq, text: `${JSON.stringify(head)}\n${body}` };
}

/** A state that was kept. The session is named by whoever reads it: a fork has its parent's. */
export interface Decoded {
  readonly state: SessionState;
  /** Whether the log that it is to be used for has this event at its place. */
  isOf(event: DurableEvent): boolean;
}

/** The state in a snapshot; null when it is damaged, or of another version. */
export function decodeState(sessionId: string, { seq, text }: Snapshot): Decoded | null {
  const end = text.indexOf('\n');
  const head = end < 0 ? null : (parsed(text.slice(0, end)) as Head | null);
  if (head?.state !== STATE_VERSION || head.events !== EVENT_VERSION) return null;
  const body = text.slice(end + 1);
  if (digestOf(body) !== head.sum) return null;
  const kept = parsed(body) as (Omit<SessionState, 'sessionId'> & Record<(typeof MAPS)[number], never>) | null;
  if (kept?.seq !== seq) return null;
  const state: SessionState = {
    ...kept,
    sessionId,
    ordinals: new Map(kept.ordinals),
    decisions: new Map(kept.decisions),
    slots: new Map(kept.slots),
    reads: new Map(kept.reads),
    tasks: kept.tasks ? { all: new Map(kept.tasks.all), open: new Set(kept.tasks.open) } : null,
  };
  return { state, isOf: (event) => event.seq === seq && digestOfEvent(event) === head.event };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text, MAX_ENVELOPE_DEPTH);
  } catch {
    return null;
  }
}

function digestOf(text: string): string {
  const digest = createDigest();
  digest.text(text);
  return digest.value();
}

/** Its own text, the number aside, which stands elsewhere in each journal. */
const digestOfEvent = ({ seq: _, ...event }: DurableEvent): string => digestOf(JSON.stringify(event));
