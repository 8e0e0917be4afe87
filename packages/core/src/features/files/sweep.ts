import { allSessions } from '../../journal/all-sessions.ts';
import type { DurableEvent } from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Blobs, BlobSweepReport } from '../../ports/blobs.ts';

const IDS = /sha256-[0-9a-f]{64}/g;

/** The ids of blobs that an event names, wherever it does. A text that looks like one counts: better kept than missed. */
export const blobIdsOf = (event: DurableEvent): readonly string[] => JSON.stringify(event).match(IDS) ?? [];

/** Options of {@link sweepBlobs}. */
export interface SweepBlobsOptions {
  readonly blobs: Blobs;
  /** Every journal whose logs may name these blobs. A journal that is left out loses its own. */
  readonly journals: readonly Journal[];
  /** Younger blobs stay. Default: a day, in milliseconds. */
  readonly olderThanMs?: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Removes blobs that are old and that no log names, those of forks included. It reads all logs. When one of them can't be
 * read, nothing is removed.
 *
 * @throws whatever reading a log, or removing a blob, fails with
 *
 * @example
 * ```ts
 * import { memoryBlobs, memoryJournal } from '@treadle/core';
 * import { sweepBlobs } from '@treadle/core/features';
 *
 * const { removed } = await sweepBlobs({ blobs: memoryBlobs(), journals: [memoryJournal()] });
 * console.log(removed); // 0
 * ```
 */
export async function sweepBlobs(options: SweepBlobsOptions): Promise<BlobSweepReport> {
  const { blobs, journals, olderThanMs = DAY_MS } = options;
  const inUse = new Set<string>();
  for (const journal of journals) await collectIds(journal, inUse);
  return blobs.sweep({ olderThanMs, inUse });
}

/** Pages again until a pass finds no session that the ones before it haven't: what is written to meanwhile moves. */
async function collectIds(journal: Journal, inUse: Set<string>): Promise<void> {
  const seen = new Set<string>();
  for (let found = true; found;) {
    found = false;
    for await (const { sessionId, damage } of allSessions(journal)) {
      // What a log names that can't be read must not be taken for unused.
      if (damage !== undefined) throw new TreadleError('journal_corrupt', damage, { details: { sessionId } });
      if (seen.has(sessionId)) continue;
      seen.add(sessionId);
      found = true;
      await collectFrom(journal, sessionId, inUse);
    }
  }
}

async function collectFrom(journal: Journal, sessionId: string, inUse: Set<string>): Promise<void> {
  try {
    for await (const event of journal.read(sessionId, 1)) for (const id of blobIdsOf(event)) inUse.add(id);
  } catch (error) {
    // Removed since it was listed: what it named is in use no longer, unless by a fork, which has a log of its own.
    if ((error as { readonly code?: unknown }).code !== 'session_not_found') throw error;
  }
}
