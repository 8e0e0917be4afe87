import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32, tableCrc32 } from './crc32.ts';

describe('CRC-32', () => {
  it('of the check value of its definition is right', () => {
    expect(tableCrc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
    expect(tableCrc32(new Uint8Array(0))).toBe(0);
  });

  it('is the same by table and by zlib, for short and long bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(crc32(bytes)).toBe(tableCrc32(bytes));
      }),
    );
  });
});
