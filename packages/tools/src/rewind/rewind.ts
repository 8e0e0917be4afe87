import { type Blobs, type Clock, type Journal, errorText, sessionsOf, systemClock, TreadleError } from '@treadle/core';
import type { DurableEventBody, RewoundFile } from '@treadle/core/events';
import { type Ids, randomIds } from '@treadle/core/ports';
import { type RewindFold, type RewindPoint, rewindFold } from '@treadle/core/projections';
import { asRoot, type Root } from '../root/root.ts';
import { inspect, keepNow, restore, type Restoration, type RewoundFileReport } from './restore.ts';

/** Options of {@link rewind}. */
export interface RewindOptions {
  readonly journal: Journal;
  readonly sessionId: string;
  /** Those of the session. Needed for files. */
  readonly blobs?: Blobs;
  /** The folders whose files may be brought back. What a session has changed elsewhere is reported, and left alone. */
  readonly roots?: readonly (string | Root)[];
  /** The message to go back to, by its number from 1 or its id: to just before it was sent. Default: the last one. */
  readonly to?: number | string;
  /** Default: both. */
  readonly what?: 'files' | 'conversation' | 'both';
  /** True changes nothing, and says what would be changed. */
  readonly dryRun?: boolean;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** Who does it, shown to others who want the session meanwhile. */
  readonly owner?: string;
}

/** The outcome of a rewind. */
export interface RewindReport {
  readonly to: RewindPoint;
  readonly dryRun: boolean;
  /** Each file that the session has changed since, in the order in which it was changed first. */
  readonly files: readonly RewoundFileReport[];
  /** The session with the conversation as it was; null when the conversation stays, or nothing was to be changed. */
  readonly sessionId: string | null;
}

/**
 * Takes a session back to before a message: the files that its tools have changed since, its conversation, or both.
 *
 * Files get what they held, or go if they were made since; what somebody else has changed, or what leads out of the roots
 * by now, is reported and left alone. The log gets an event before the first file is touched, with what they hold now, so
 * that a rewind can be rewound; when this dies in the middle, each file is old or new, and doing it again finishes it. The
 * conversation goes back in a fork, and the session stays what it is: its log is never edited.
 *
 * @throws TreadleError `session_not_found`; `session_busy` while it is driven; `nothing_to_continue` when there is no such
 * message; `invalid_definition` when files are to go back and there are no blobs.
 */
export async function rewindSession(options: RewindOptions): Promise<RewindReport> {
  const { journal, sessionId, what = 'both', dryRun = false, clock = systemClock, ids = randomIds } = options;
  const fold = await foldOf(journal, sessionId);
  const to = pointOf(fold, sessionId, options.to);
  const files = what === 'conversation' ? [] : await rewindFiles(options, to);
  if (what === 'files' || dryRun) return { to, dryRun, files, sessionId: null };
  const fork = await sessionsOf(journal, { clock, ids }).fork(sessionId, { at: to.inputSeq - 1 });
  return { to, dryRun, files, sessionId: fork };
}

async function foldOf(journal: Journal, sessionId: string): Promise<RewindFold & { readonly seq: number }> {
  const fold = rewindFold();
  let seq = 0;
  for await (const event of journal.read(sessionId, 1)) {
    fold.take(event);
    ({ seq } = event);
  }
  return { ...fold, seq };
}

function pointOf(fold: RewindFold, sessionId: string, to: number | string | undefined): RewindPoint {
  const points = fold.points();
  const found =
    to === undefined ? points.at(-1) : points.find(({ number, messageId }) => number === to || messageId === to);
  if (found) return found;
  const there = points.length === 0 ? 'It has none.' : `Its messages are 1 to ${points.length}.`;
  const wanted = to === undefined ? '' : ` ${typeof to === 'number' ? `number ${to}` : to}`;
  throw new TreadleError('nothing_to_continue', `Session ${sessionId} has no message${wanted} to go back to. ${there}`);
}

async function rewindFiles(options: RewindOptions, to: RewindPoint): Promise<readonly RewoundFileReport[]> {
  const { journal, sessionId, blobs, dryRun = false, ids = randomIds, owner = 'a rewind' } = options;
  const roots = (options.roots ?? []).map((root) => asRoot(root));
  const look = async () => {
    const fold = await foldOf(journal, sessionId);
    const seen = [];
    for (const file of fold.changedSince(to)) seen.push(await inspect(file, roots));
    return { seen, seq: fold.seq };
  };
  if (dryRun) return (await look()).seen.map(({ report }) => report);
  const claim = await journal.claim(sessionId, { id: ids.create('drive'), label: owner });
  try {
    const { seen, seq } = await look();
    const due = seen.flatMap(({ restoration }) => (restoration ? [restoration] : []));
    if (due.length === 0) return seen.map(({ report }) => report);
    if (!blobs) {
      throw new TreadleError('invalid_definition', "Files can't be brought back without the session's blobs.");
    }
    await record(options, claim.epoch, seq, to, due, blobs);
    const reports: RewoundFileReport[] = [];
    for (const { report, restoration } of seen) {
      const problem = restoration ? await restored(restoration, blobs) : null;
      reports.push(problem ? { ...report, ...problem } : report);
    }
    return reports;
  } finally {
    await claim.release();
  }
}

/** What is about to be done, in the log. Inputs that others post meanwhile come before it. */
async function record(
  { journal, sessionId, clock = systemClock }: RewindOptions,
  epoch: number,
  seq: number,
  { messageId, inputSeq }: RewindPoint,
  due: readonly Restoration[],
  blobs: Blobs,
): Promise<void> {
  const files: RewoundFile[] = [];
  for (const restoration of due) {
    const { root, path, wanted } = restoration;
    files.push({ root: root.path, path, before: await keepNow(restoration, blobs), after: wanted?.id ?? null });
  }
  const event: DurableEventBody = { type: 'files_rewound', at: clock.now(), messageId, inputSeq, files };
  for (let expected = seq; ;) {
    const outcome = await journal.append(sessionId, epoch, expected, [event]);
    if (outcome.ok) return;
    expected = outcome.seq;
  }
}

async function restored(
  restoration: Restoration,
  blobs: Blobs,
): Promise<Pick<RewoundFileReport, 'action' | 'message'> | null> {
  try {
    await restore(restoration, blobs);
    return null;
  } catch (error) {
    const code = (error as { readonly code?: unknown }).code;
    return { action: code === 'changed' ? 'changed' : 'refused', message: errorText(error) };
  }
}
