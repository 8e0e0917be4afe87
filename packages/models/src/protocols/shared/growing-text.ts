/** Text as bytes of UTF-8. */
export type Piece = string | Uint8Array;

const encoder = new TextEncoder();

/** A conversation's JSON as UTF-8. Every turn sends all of it, so each text is encoded once, when it is appended. */
export interface GrowingText {
  /** In bytes. */
  size(): number;
  append(text: string): void;
  /** The bytes from one place to another. They are shared, not copied. */
  view(from?: number, to?: number): Uint8Array;
}

/** An empty text. */
export function createGrowingText(): GrowingText {
  let bytes = new Uint8Array(1024);
  let length = 0;
  return {
    size: () => length,
    append(text) {
      const more = encoder.encode(text);
      if (length + more.length > bytes.length) {
        const larger = new Uint8Array(2 * (length + more.length));
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(more, length);
      length += more.length;
    },
    view: (from = 0, to = length) => bytes.subarray(from, to),
  };
}

/** Pieces without the character they begin with, which is ASCII. */
export function withoutFirst(pieces: readonly Piece[]): readonly Piece[] {
  const [first, ...rest] = pieces;
  if (first === undefined) return [];
  if (first.length === 0) return withoutFirst(rest);
  return [typeof first === 'string' ? first.slice(1) : first.subarray(1), ...rest];
}

/** The bytes of pieces that follow one another, copied into one array. */
export function joined(pieces: readonly Piece[]): Uint8Array {
  const encoded = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece));
  const bytes = new Uint8Array(encoded.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const piece of encoded) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
