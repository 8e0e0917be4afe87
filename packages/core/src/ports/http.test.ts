import { describe, expect, it } from 'vitest';
import { bytesOfBody } from './http.ts';

describe('the bytes of a body', () => {
  it('are those of its text, of its one piece, or of its pieces in their order', () => {
    const piece = Uint8Array.from([1, 2]);
    expect(bytesOfBody('é')).toEqual(Uint8Array.from([0xc3, 0xa9]));
    expect(bytesOfBody(piece)).toBe(piece);
    expect(bytesOfBody([piece])).toBe(piece);
    expect(bytesOfBody([piece, new Uint8Array(), Uint8Array.from([3])])).toEqual(Uint8Array.from([1, 2, 3]));
    expect(bytesOfBody([])).toEqual(new Uint8Array());
  });
});
