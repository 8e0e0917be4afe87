const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_unused, value) => {
  let remainder = value;
  for (let bit = 0; bit < 8; bit++) {
    remainder = (remainder & 1) === 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  }
  return remainder;
});

let ofNode: ((bytes: Uint8Array) => number) | undefined;

/** CRC-32 (IEEE 802.3, as in zlib and PNG) of bytes, as an unsigned number. */
export function crc32(bytes: Uint8Array): number {
  ofNode ??= globalThis.process?.getBuiltinModule?.('node:zlib').crc32 ?? portableCrc32;
  return ofNode(bytes);
}

/** The same, where there is no `node:zlib`. */
export function portableCrc32(bytes: Uint8Array): number {
  let remainder = 0xffffffff;
  for (const byte of bytes) remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ byte) & 0xff] ?? 0);
  return (remainder ^ 0xffffffff) >>> 0;
}
