import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';

import { HttpProblem } from './problem.ts';
import type { HttpLimits } from './limits.ts';

/** What a body needs to be read within its limits. */
export interface BodyReading {
  readonly limits: Required<HttpLimits>;
  /** The URL, for messages. */
  readonly shown: string;
  /** Ends the connection and the timers; called once, whatever becomes of the body. */
  readonly release: () => void;
  /** Registers what is to happen when the exchange has to stop: its time is over, or it was aborted. */
  readonly onStop: (stop: (problem: HttpProblem) => void) => void;
}

/**
 * A response's body, unpacked and counted. It fails with an `HttpProblem`, and ends the connection when it is over or its
 * reader leaves it.
 *
 * @throws HttpProblem `bad_encoding` for an encoding that nobody here knows.
 */
export function readBody(response: IncomingMessage, reading: BodyReading): AsyncIterable<Uint8Array> {
  const { source, packedBytes } = unpacked(response, reading.shown);
  let stopped: HttpProblem | null = null;
  reading.onStop((problem) => {
    stopped = problem;
    response.destroy();
    source.destroy(problem);
  });
  // An error before anybody reads must not end the process; whoever reads later gets it from the iterator.
  source.on('error', () => {});
  response.on('error', () => {});
  return iterate({ response, source, packedBytes }, reading, () => stopped);
}

/** A body as it is read. */
interface Unpacked {
  readonly source: Readable;
  /** Bytes that were unpacked so far, as they came; null where nothing is packed. */
  readonly packedBytes: () => number | null;
}

/** The stream that undoes a body's encoding, or the body itself. */
function unpacked(response: IncomingMessage, shown: string): Unpacked {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return { source: response, packedBytes: () => null };
  const known = encoding === 'gzip' || encoding === 'x-gzip' || encoding === 'deflate';
  if (!known && encoding !== 'br') {
    throw new HttpProblem('bad_encoding', `${shown} answered in the encoding ${encoding.slice(0, 40)}.`);
  }
  const unpacking = known ? createUnzip() : createBrotliDecompress();
  response.on('error', (error) => unpacking.destroy(error));
  response.on('close', () => {
    if (!response.complete) unpacking.destroy(new Error('the connection was closed'));
  });
  return { source: response.pipe(unpacking), packedBytes: () => unpacking.bytesWritten };
}

async function* iterate(
  { response, source, packedBytes }: Unpacked & { readonly response: IncomingMessage },
  { limits, shown, release }: BodyReading,
  stopped: () => HttpProblem | null,
): AsyncGenerator<Uint8Array, void> {
  const { clock, idleTimeoutMs, maxBodyBytes } = limits;
  const iterator = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let bytes = 0;
  let isIdle = false;
  try {
    for (;;) {
      // Only waiting counts: a slow reader is not a slow server.
      const cancel = clock.after(idleTimeoutMs, () => {
        isIdle = true;
        response.destroy();
        source.destroy(new Error('idle'));
      });
      const next = await iterator.next().finally(cancel);
      if (next.done === true) break;
      bytes += next.value.length;
      if (bytes > maxBodyBytes) {
        throw new HttpProblem('response_too_large', `The answer of ${shown} is larger than ${maxBodyBytes} bytes.`);
      }
      if (isBomb(bytes, packedBytes())) {
        throw new HttpProblem(
          'response_too_large',
          `The answer of ${shown} unpacks to more than ${MOST_GROWTH} times its size, and was not read to its end.`,
        );
      }
      yield next.value;
    }
    const problem = stopped();
    if (problem) throw problem;
    if (!response.complete) throw new Error('the connection was closed');
  } catch (error) {
    const problem = stopped();
    if (problem) throw problem;
    if (isIdle) throw idleProblem(shown, idleTimeoutMs);
    throw asBodyProblem(error, shown, source !== response);
  } finally {
    source.destroy();
    release();
  }
}

/** No page grows so much: text grows 5 to 50 times. Small bodies may, for they harm nobody. */
const MOST_GROWTH = 200;
const HARMLESS_BYTES = 1024 * 1024;

const isBomb = (bytes: number, packedBytes: number | null): boolean =>
  packedBytes !== null && bytes > HARMLESS_BYTES && bytes > MOST_GROWTH * packedBytes;

/** The problem of an exchange in which nothing came any more. */
export const idleProblem = (shown: string, milliseconds: number): HttpProblem =>
  new HttpProblem('idle_timeout', `${shown} sent nothing for ${milliseconds} ms.`);

function asBodyProblem(error: unknown, shown: string, isPacked: boolean): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (isPacked && (code.startsWith('Z_') || code.startsWith('ERR_') || code.startsWith('ERR__'))) {
    return new HttpProblem('bad_encoding', `The answer of ${shown} could not be unpacked.`, error);
  }
  return new HttpProblem('connection_failed', `The connection to ${shown} ended in the middle of its answer.`, error);
}
