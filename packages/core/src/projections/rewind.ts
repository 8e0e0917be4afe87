import type { BlobRef } from '../ports/blobs.ts';
import type { DurableEvent } from '../events/events.ts';
import type { UserMessage } from '../messages/message.ts';

/** A message of the user's that a session can go back to: to just before it was sent. */
export interface RewindPoint {
  /** From 1, in the order of the conversation. */
  readonly number: number;
  readonly messageId: string;
  /** Its first text. */
  readonly text: string;
  readonly at: number;
  /** The input it came with: all that is in the log from there on came after. */
  readonly inputSeq: number;
}

/** A file that tools have changed since a point. */
export interface ChangedFile {
  readonly root: string;
  readonly path: string;
  /** What it held then: a blob, null for no file, undefined when nobody knows. */
  readonly wanted: BlobRef | null | undefined;
  /** What it may hold now unless somebody else has changed it: ids of blobs, null for no file. */
  readonly expected: readonly (string | null)[];
}

/** Folds a log into what a rewind needs of it. */
export interface RewindFold {
  take(event: DurableEvent): void;
  /** Oldest first. */
  points(): readonly RewindPoint[];
  /** In the order in which they were changed first. */
  changedSince(point: RewindPoint): readonly ChangedFile[];
}

interface Change {
  readonly seq: number;
  readonly root: string;
  readonly path: string;
  readonly before: BlobRef | null | undefined;
  readonly after: string | null;
  /** Whether it came about. Nobody knows of a call that has no end, nor of a rewind. */
  outcome: 'unknown' | 'done' | 'failed';
}

const SAID: ReadonlySet<UserMessage['origin']> = new Set(['prompt', 'steering', 'follow_up']);

/** Folds events into the file changes that a rewind can undo. */
export function rewindFold(): RewindFold {
  let points: RewindPoint[] = [];
  const changes: Change[] = [];
  /** Those of calls that haven't ended. */
  const open = new Map<string, Change[]>();
  return {
    take(event) {
      if (event.type === 'file_checkpointed') {
        const { seq, root, path, before, after, callId } = event;
        const change: Change = { seq, root, path, before, after, outcome: 'unknown' };
        changes.push(change);
        open.set(callId, [...(open.get(callId) ?? []), change]);
      } else if (event.type === 'tool_ended') {
        for (const change of open.get(event.callId) ?? []) change.outcome = event.isError ? 'failed' : 'done';
        open.delete(event.callId);
      } else if (event.type === 'files_rewound') {
        for (const file of event.files) changes.push({ ...file, seq: event.seq, outcome: 'unknown' });
      } else if (event.type === 'input_received' && event.input.type === 'import') points = [];
      else if (event.type === 'message_added') {
        const { message, inputSeq } = event;
        if (message.role !== 'user' || inputSeq === undefined || !SAID.has(message.origin)) return;
        const text = message.content.find((block) => block.type === 'text')?.text ?? '';
        points.push({ number: points.length + 1, messageId: message.id, text, at: message.at, inputSeq });
      }
    },
    points: () => points.slice(),
    changedSince({ inputSeq }) {
      const since = changes.filter(({ seq }) => seq >= inputSeq);
      return [...Map.groupBy(since, ({ root, path }) => `${root}\0${path}`).values()].flatMap(changedFile);
    },
  };
}

function changedFile(changes: readonly Change[]): readonly ChangedFile[] {
  const [first] = changes;
  if (!first) return [];
  const { root, path, before: wanted } = first;
  const made = changes.filter(({ outcome }) => outcome !== 'failed');
  const last = made.at(-1);
  if (!last) return [{ root, path, wanted, expected: wanted === undefined ? [] : [wanted?.id ?? null] }];
  const expected = [last.after];
  const held = last.before === undefined ? made.at(-2)?.after : (last.before?.id ?? null);
  // Its process may have died before it came to that.
  if (last.outcome === 'unknown' && held !== undefined) expected.push(held);
  return [{ root, path, wanted, expected }];
}
