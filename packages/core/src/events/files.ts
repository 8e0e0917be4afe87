import type { BlobRef } from '../ports/blobs.ts';

/** A tool is about to change a file, and what it held can be brought back. */
export interface FileCheckpointedEvent {
  readonly type: 'file_checkpointed';
  readonly at: number;
  readonly runId: string;
  readonly turnIndex: number;
  readonly callId: string;
  /** The real path of the folder that the tool is confined to. */
  readonly root: string;
  /** The file's real path below it, with `/`. */
  readonly path: string;
  /**
   * What it held; null when there was no file. Absent when that is known: the same prompt has changed the file before, and
   * what it held then is in that event.
   */
  readonly before?: BlobRef | null;
  /** What it is to hold: the id that this would have as a blob. */
  readonly after: string;
}

/** Files are about to be brought back to what they held before a message. */
export interface FilesRewoundEvent {
  readonly type: 'files_rewound';
  readonly at: number;
  /** The message that they go back to, and the input that it came with. */
  readonly messageId: string;
  readonly inputSeq: number;
  readonly files: readonly RewoundFile[];
}

/** A file that a rewind changed. */
export interface RewoundFile {
  readonly root: string;
  readonly path: string;
  /** What it holds now; null when there is no file. */
  readonly before: BlobRef | null;
  /** The id of what it is to hold; null when it is to be deleted. */
  readonly after: string | null;
}
