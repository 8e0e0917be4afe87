// The ports that I/O comes through: clock, ids, HTTP, blobs, ledgers, task runners, dispatchers.
export * from '../ports/shared-state.ts';
export type { BlobOptions } from '../ports/blob-keeper.ts';
export {
  type BlobContent,
  blobErrors,
  blobIdOf,
  type BlobRef,
  type BlobSweep,
  type BlobSweepReport,
  isBlobId,
  type PutBlobOptions,
  readBlob,
} from '../ports/blobs.ts';
export * from '../ports/clock.ts';
export * from '../ports/dispatcher.ts';
export * from '../ports/http.ts';
export * from '../ports/ids.ts';
export * from '../ports/validator.ts';
export * from '../ports/ledger.ts';
export * from '../ports/task-runner.ts';
