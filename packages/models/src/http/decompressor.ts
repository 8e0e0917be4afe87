import type { Duplex } from 'node:stream';

/** The stream that undoes a content encoding; undefined when there is none or it is unknown. */
export function decompressor(encoding: string | undefined): Duplex | undefined {
  if (encoding === undefined || encoding === 'identity') return undefined;
  const zlib = process.getBuiltinModule('node:zlib');
  // Flushed at every chunk: an event must not wait for the next block.
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  switch (encoding.trim().toLowerCase()) {
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
}
