import type { DurableEvent, SessionInput, TreadleEvent } from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import { CLOSED_INPUT, driveHere, foldNews, hasWork, inTurn, type SessionParts } from '../runs.ts';

/** What a compaction came to. */
export type CompactedEvent = Extract<DurableEvent, { type: 'compacted' }>;

type Outcome = Extract<DurableEvent, { type: 'compacted' | 'compaction_failed' | 'input_rejected' }>;

/** Makes the view smaller: at once when no run is open, else before the run's next model call. */
export async function compactSession(parts: SessionParts, instructions: string | undefined): Promise<CompactedEvent> {
  const input: SessionInput = { type: 'compact', ...(instructions === undefined ? {} : { instructions }) };
  return resultOf(parts.active ? await duringRun(parts, input) : await whileIdle(parts, input));
}

async function whileIdle(parts: SessionParts, input: SessionInput): Promise<Outcome | null> {
  const compacting = (parts.compacting ??= { count: 0, isAborted: false });
  compacting.count += 1;
  try {
    return await inTurn(parts, () => compactNow(parts, input, compacting));
  } finally {
    compacting.count -= 1;
    if (compacting.count === 0) parts.compacting = null;
  }
}

async function compactNow(
  parts: SessionParts,
  input: SessionInput,
  compacting: { readonly isAborted: boolean },
): Promise<Outcome | null> {
  await foldNews(parts);
  if (hasWork(parts)) {
    throw new TreadleError('run_active', 'A run of this session is open. Resume it or abort() it first.');
  }
  let inputSeq = 0;
  const begin = async (): Promise<void> => {
    if (compacting.isAborted) throw new TreadleError('not_compacted', 'The compaction was interrupted.');
    inputSeq = (await parts.post(input)).seq;
  };
  await driveHere(parts, begin, CLOSED_INPUT);
  for await (const event of parts.journal.read(parts.state.sessionId, inputSeq)) {
    if (isOutcome(event, inputSeq)) return event;
  }
  return null;
}

async function duringRun(parts: SessionParts, input: SessionInput): Promise<Outcome | null> {
  const { promise, resolve } = Promise.withResolvers<Outcome | null>();
  const heard: TreadleEvent[] = [];
  let inputSeq: number | null = null;
  const look = (): void => {
    const found = heard.find((event) => inputSeq !== null && isOutcome(event, inputSeq));
    if (found) resolve(found as Outcome);
  };
  const unsubscribe = parts.hub.subscribe((event) => {
    if (!OUTCOMES.has(event.type)) return;
    heard.push(event);
    look();
  });
  try {
    inputSeq = (await parts.post(input)).seq;
    look();
    void whenIdle(parts).then(() => resolve(null));
    return await promise;
  } finally {
    unsubscribe();
  }
}

async function whenIdle(parts: SessionParts): Promise<void> {
  while (parts.active) await parts.active.ended;
}

const OUTCOMES: ReadonlySet<TreadleEvent['type']> = new Set(['compacted', 'compaction_failed', 'input_rejected']);

const isOutcome = (event: TreadleEvent, inputSeq: number): event is Outcome =>
  OUTCOMES.has(event.type) && 'inputSeq' in event && event.inputSeq === inputSeq;

function resultOf(outcome: Outcome | null): CompactedEvent {
  if (outcome?.type === 'compacted') return outcome;
  if (outcome?.type === 'compaction_failed') throw new TreadleError('not_compacted', outcome.message);
  if (outcome) throw new TreadleError('not_compacted', outcome.reason);
  throw new TreadleError('not_compacted', 'The run paused, or its conversation was replaced, before it came to that.');
}
