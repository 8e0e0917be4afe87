// Runs in a worker thread, so that a pattern that backtracks for ever can be ended by ending the thread. Imports only
// what resolves by file name: a worker does not get the import conditions of the process that starts it.
import { parentPort, workerData } from 'node:worker_threads';
import { matchPieces, type Piece } from './match-lines.ts';

/** What the worker is started with. */
export interface WorkerPattern {
  readonly source: string;
  readonly flags: string;
}

/** A question to the worker; the answer is one `PieceMatches` for each piece. */
export interface WorkerBatch {
  readonly pieces: readonly Piece[];
  readonly limit: number;
}

const { source, flags } = workerData as WorkerPattern;
const pattern = new RegExp(source, flags);

parentPort?.on('message', ({ pieces, limit }: WorkerBatch) => {
  parentPort?.postMessage(matchPieces(pattern, pieces, limit));
});
