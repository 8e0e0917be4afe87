import type { BlobRef } from '../ports/blobs.ts';

/**
 * Files that the provider's own tools made in a run were fetched from the provider and are kept as blobs, or could not be.
 * At most one per end of a run; those that are known already are in it too when they were seen again.
 */
export interface FilesGeneratedEvent {
  readonly type: 'files_generated';
  readonly at: number;
  readonly runId: string;
  /** What keeps them: `Blobs.backend`. */
  readonly backend: string;
  readonly files: readonly GeneratedFile[];
}

/** A file that a provider's tool made. */
export interface GeneratedFile {
  /** An id that only `provider` understands. */
  readonly fileId: string;
  readonly provider: string;
  /** What the provider calls it. Absent when it couldn't be asked. */
  readonly name?: string;
  readonly mediaType?: string;
  /** Its bytes; absent when they couldn't be had. */
  readonly blob?: BlobRef;
  /** The turns of this run whose results first and last named it, from 0. */
  readonly firstTurn: number;
  readonly lastTurn: number;
  /** True when the session has its bytes from before, and they were not fetched again. */
  readonly isUpdate: boolean;
  /** Why its bytes couldn't be had. They are asked for again when a result names it again. */
  readonly error?: string;
}
