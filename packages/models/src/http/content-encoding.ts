import type { Readable, Transform } from 'node:stream';
import { transportError } from './timeouts.ts';

/** More codings on one body than this are an attack. */
const MOST_CODINGS = 5;

/** The codings of a body, in the order in which they were applied. */
export const codingsOf = (header: string | undefined): string[] =>
  (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');

/** A body that can't be decoded is refused: handed on as it is, it would be taken for text. */
export const refusedEncoding = (header: string | undefined): Error =>
  transportError(
    'TREADLE_CONTENT_ENCODING',
    `The response has the content encoding ${JSON.stringify(header)}, which can't be decoded. Have the server, or the proxy ` +
      'before it, send gzip, deflate, br or nothing.',
  );

const decoderOf = (coding: string): Transform | undefined => {
  const zlib = process.getBuiltinModule('node:zlib');
  // Flushed at every chunk: an event must not wait for the next block.
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return zlib.createUnzip({ flush: Z_SYNC_FLUSH });
    case 'br':
      return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return zlib.createZstdDecompress();
    default:
      return undefined;
  }
};

/** True for a body that ends without a byte. */
const isEmpty = (body: Readable): Promise<boolean> =>
  new Promise((resolve) => {
    body.once('readable', () => resolve(body.readableLength === 0));
    body.once('close', () => resolve(body.readableLength === 0));
  });

async function* unpacked(body: Readable, decoders: readonly Transform[]): AsyncGenerator<Uint8Array> {
  const last = decoders.at(-1);
  // An empty body, such as that of a response to HEAD, is not packed.
  const isPacked = last !== undefined && !(await isEmpty(body));
  // The last stream reports the failures of all.
  if (isPacked) process.getBuiltinModule('node:stream').pipeline([body, ...decoders], () => {});
  yield* (isPacked ? last : body) as AsyncIterable<Uint8Array>;
}

/**
 * The chunks of a body without its content encoding. It is unpacked no faster than it is read.
 *
 * @throws `TREADLE_CONTENT_ENCODING` when it has a coding that can't be undone.
 */
export function decoded(body: Readable, header: string | undefined): AsyncIterator<Uint8Array> {
  const codings = codingsOf(header);
  if (codings.length === 0) return body[Symbol.asyncIterator]();
  const decoders = codings.length > MOST_CODINGS ? [] : codings.reverse().flatMap((coding) => decoderOf(coding) ?? []);
  if (decoders.length < codings.length) throw refusedEncoding(header);
  return unpacked(body, decoders);
}
