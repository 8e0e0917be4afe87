import { crc32 } from 'node:zlib';

/** An event's row, as far as its checksum covers it. */
export interface SummedRow {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly posted: number;
  /** JSON. */
  readonly body: string;
}

/** The CRC-32 of all that a row says: SQLite's own pages have none. */
export const sumOf = ({ seq, at, posted, body }: SummedRow): number => crc32(body, crc32(`${seq} ${at} ${posted}`));
