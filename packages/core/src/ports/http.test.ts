import { describe, expect, it } from 'vitest';
import { bytesOfBody } from './http.ts';

describe('the bytes of a body', () => {
  it('are those of its text, or its own', () => {
    const piece = Uint8Array.from([1, 2]);
    expect(bytesOfBody('é')).toEqual(Uint8Array.from([0xc3, 0xa9]));
    expect(bytesOfBody(piece)).toBe(piece);
  });
});
