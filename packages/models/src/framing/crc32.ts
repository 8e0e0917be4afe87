/** CRC-32 of bytes (IEEE 802.3, as in zlib and PNG), as an unsigned number. */
export type Crc32 = (bytes: Uint8Array) => number;

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_unused, value) => {
  let remainder = value;
  for (let bit = 0; bit < 8; bit++) {
    remainder = (remainder & 1) === 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  }
  return remainder;
});

/** CRC-32 by a table, wherever JavaScript runs: of all bytes, or of those from one place to another. */
export const tableCrc32 = (bytes: Uint8Array, from = 0, to: number = bytes.length): number => {
  let remainder = 0xffffffff;
  // An index that walks is several times faster here than an iterator.
  for (let at = from; at < to; at++) {
    remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  }
  return (remainder ^ 0xffffffff) >>> 0;
};

/** Bytes below which calling into zlib costs more than the table. */
const WORTH_A_CALL = 48;

const builtin = (): Crc32 | undefined => {
  if (typeof process !== 'object' || typeof process.getBuiltinModule !== 'function') return undefined;
  // Older versions of Node have the module without the function.
  const zlib: { readonly crc32?: Crc32 } | undefined = process.getBuiltinModule('node:zlib');
  return zlib?.crc32;
};

/** What works here, once somebody has asked: zlib isn't loaded for those who never do. */
let best: Crc32 | undefined;

/** CRC-32 by zlib where the platform has it, else by a table. */
export const crc32: Crc32 = (bytes) => {
  if (bytes.length < WORTH_A_CALL) return tableCrc32(bytes);
  best ??= builtin() ?? tableCrc32;
  return best(bytes);
};
