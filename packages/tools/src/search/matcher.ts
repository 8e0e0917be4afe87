import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FileProblem } from '../root/problem.ts';
import { matchPieces, type Piece, type PieceMatches } from './match-lines.ts';
import type { WorkerBatch, WorkerPattern } from './match-worker.ts';

/** Finds matching lines. Use one at a time and close it. */
export interface Matcher {
  /** At most `limit` matches in all. Rejects with an `aborted` problem when the signal is aborted, however busy. */
  match(pieces: readonly Piece[], limit: number): Promise<readonly PieceMatches[]>;
  close(): Promise<void>;
}

/** The memory a pattern may use, in MB. */
const workerMemory = 256;
const longestPattern = 10_000;

/**
 * Compiles a search pattern as a JavaScript regular expression, with the usual inline flags at the beginning, such as
 * `(?i)`. Unicode mode first, as ripgrep has it; plain mode for patterns that only that one accepts, such as `\"`.
 */
export function compilePattern(pattern: string, caseSensitive: boolean): RegExp {
  if (pattern === '') throw new FileProblem('bad_request', 'The pattern is empty.');
  if (pattern.length > longestPattern) {
    throw new FileProblem('bad_request', `The pattern is longer than ${longestPattern} characters.`);
  }
  const inline = /^\(\?([ims]+)\)/.exec(pattern);
  const source = inline === null ? pattern : pattern.slice(inline[0].length);
  const flags = [...new Set([...(inline?.[1] ?? ''), ...(caseSensitive ? '' : 'i')])].join('');
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    try {
      return new RegExp(source, flags);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new FileProblem(
        'bad_request',
        `The pattern can not be used: ${reason}. Escape special characters with \\.`,
        error,
      );
    }
  }
}

/** A matcher for `pattern`. One that can't backtrack runs here; any other in a thread that can be ended. */
export const matcherFor = (pattern: RegExp, signal: AbortSignal): Matcher =>
  isLiteral(pattern.source) ? inlineMatcher(pattern, signal) : workerMatcher(pattern, signal);

/** No group, alternative or quantifier: each position is tried once, in at most the pattern's length. */
const isLiteral = (source: string): boolean => !/[()[\]{}*+?|]/.test(source);

function inlineMatcher(pattern: RegExp, signal: AbortSignal): Matcher {
  return {
    async match(pieces, limit) {
      if (signal.aborted) throw ended();
      return matchPieces(pattern, pieces, limit);
    },
    close: async () => {},
  };
}

function workerMatcher(pattern: RegExp, signal: AbortSignal): Matcher {
  let worker: Worker | undefined;
  return {
    async match(pieces, limit) {
      if (signal.aborted) throw ended();
      worker ??= startWorker({ source: pattern.source, flags: pattern.flags });
      return ask(worker, { pieces, limit }, signal);
    },
    async close() {
      await worker?.terminate();
    },
  };
}

function startWorker(workerData: WorkerPattern): Worker {
  // Sources run as they are, and built files have another ending.
  const file = import.meta.url.endsWith('.ts') ? './match-worker.ts' : './match-worker.js';
  return new Worker(new URL(file, import.meta.url), {
    workerData,
    // Nothing of this process's environment or standard streams is the pattern's business.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: workerMemory },
  });
}

async function ask(worker: Worker, batch: WorkerBatch, signal: AbortSignal): Promise<readonly PieceMatches[]> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const exited = once(worker, 'exit', { signal: until }).then(() => {
    throw new FileProblem('io', 'The search ended before it was finished.');
  });
  worker.postMessage(batch);
  try {
    // An error of the worker rejects what waits for it.
    const [answer] = (await Promise.race([once(worker, 'message', { signal: until }), exited])) as [PieceMatches[]];
    return answer;
  } catch (error) {
    if (signal.aborted) throw ended();
    if (error instanceof FileProblem) throw error;
    throw new FileProblem('io', 'The search failed: its pattern took too much memory.', error);
  } finally {
    exited.catch(() => {});
    over.abort();
  }
}

const ended = (): FileProblem => new FileProblem('aborted', 'The search was ended before it was finished.');
