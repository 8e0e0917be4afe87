import type { DurableEvent, InputMessage, QueueKind, SessionInput } from '../../events/events.ts';
import type { PostOutcome, Journal } from '../../journal/journal.ts';
import type { SessionState } from '../../kernel/state.ts';

/** A message that waits to be delivered. */
export interface QueuedMessage {
  readonly kind: QueueKind;
  readonly message: InputMessage;
  /** When it was posted, in milliseconds since 1970. */
  readonly at: number;
  /** Its `input_received` in the log. */
  readonly seq: number;
}

interface Parts {
  readonly journal: Journal;
  readonly state: SessionState;
  readonly post: (input: SessionInput) => Promise<PostOutcome>;
}

/** What waits, oldest first, as the log has it now: what others have queued or taken back is in it. */
export const queued = (parts: Parts): Promise<QueuedMessage[]> => queueAt(parts, snapshot(parts.state), Infinity);

/** Takes back what waits, and says what that was. Acknowledged once it is in the log; what is delivered stays so. */
export async function clearQueue(parts: Parts, kind: QueueKind | undefined): Promise<QueuedMessage[]> {
  const before = snapshot(parts.state);
  const { seq } = await parts.post({ type: 'clear_queue', ...(kind === undefined ? {} : { kind }) });
  const waiting = await queueAt(parts, before, seq - 1);
  return waiting.filter((message) => kind === undefined || message.kind === kind);
}

/** A queue at a place in the log, and whether a run was open there: it decides what an import does. */
interface Snapshot {
  readonly seq: number;
  readonly queue: QueuedMessage[];
  readonly isOpen: boolean;
}

const snapshot = ({ seq, inbox, run }: SessionState): Snapshot => ({
  seq,
  isOpen: run !== null,
  queue: inbox.flatMap((entry) => queuedMessage(entry.seq, entry.at, entry.input)),
});

const queuedMessage = (seq: number, at: number, input: SessionInput): QueuedMessage[] =>
  input.type === 'steering' || input.type === 'follow_up'
    ? [{ kind: input.type, message: input.message, at, seq }]
    : [];

/** The queue after event `last`: read on from a snapshot, for the state may be another's to fold. */
async function queueAt({ journal, state }: Parts, from: Snapshot, last: number): Promise<QueuedMessage[]> {
  let { queue, isOpen } = from;
  for await (const event of journal.read(state.sessionId, from.seq + 1)) {
    if (event.seq > last) break;
    if (event.type === 'run_started') isOpen = true;
    else if (event.type === 'run_ended') isOpen = event.inputSeq !== undefined && isOpen;
    else queue = queueAfter(queue, event, isOpen);
  }
  return queue;
}

function queueAfter(queue: QueuedMessage[], event: DurableEvent, isOpen: boolean): QueuedMessage[] {
  if (event.type === 'message_added' || event.type === 'input_rejected') {
    return queue.filter(({ seq }) => seq !== event.inputSeq);
  }
  if (event.type !== 'input_received') return queue;
  const { input, seq, at } = event;
  if (input.type === 'clear_queue') return queue.filter(({ kind }) => input.kind !== undefined && kind !== input.kind);
  if (input.type === 'import' && !isOpen) return [];
  return [...queue, ...queuedMessage(seq, at, input)];
}
