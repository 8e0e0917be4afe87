/** Text as bytes of UTF-8. */
export type Piece = string | Uint8Array;

const encoder = new TextEncoder();

/** Bytes from which a piece is sent from where it is. Shorter ones are cheaper to copy than to send one by one. */
const SENT_FROM_WHERE_IT_IS = 4096;

/**
 * Text that only grows, kept as UTF-8: what was appended is encoded once and never written to again, so that views of it
 * stay as they are, also those that a request is still sending from.
 */
export interface GrowingText {
  /** In bytes. */
  size(): number;
  append(text: string): void;
  /** The bytes from one place to another, not copied. */
  view(from?: number, to?: number): Uint8Array;
}

/** An empty text with room for this many bytes; it makes twice the room, elsewhere, when that is full. */
export function createGrowingText(room = 1024): GrowingText {
  let bytes = new Uint8Array(room);
  let length = 0;

  const makeRoom = (needed: number): void => {
    if (length + needed <= bytes.length) return;
    // The old bytes stay with whoever has a view of them.
    const larger = new Uint8Array(Math.max(2 * bytes.length, length + needed));
    larger.set(bytes.subarray(0, length));
    bytes = larger;
  };

  return {
    size: () => length,
    append(text) {
      let rest = text;
      while (rest !== '') {
        // As many bytes as a text of ASCII has. Others take another round.
        makeRoom(Math.max(rest.length, 4));
        const { read, written } = encoder.encodeInto(rest, bytes.subarray(length));
        length += written;
        rest = read === rest.length ? '' : rest.slice(read);
      }
    },
    view: (from = 0, to = length) => bytes.subarray(from, to),
  };
}

/** Text that only grows and is asked for as a whole. */
export interface GrowingWhole {
  append(text: string): void;
  whole(): Piece;
}

/** A text that is kept as it is while it is short: what sends it writes it out at once. A long one is kept as bytes. */
export function createGrowingWhole(): GrowingWhole {
  return new ShortOrLong();
}

/** A class: every conversation has one, and its methods are made once. */
class ShortOrLong implements GrowingWhole {
  #text = '';
  #bytes: GrowingText | undefined;

  append(text: string): void {
    if (this.#bytes !== undefined) return this.#bytes.append(text);
    this.#text += text;
    if (this.#text.length < SENT_FROM_WHERE_IT_IS) return;
    this.#bytes = createGrowingText(2 * this.#text.length);
    this.#bytes.append(this.#text);
    this.#text = '';
  }
  whole(): Piece {
    return this.#bytes === undefined ? this.#text : this.#bytes.view();
  }
}

/** Pieces without the character they begin with, which is ASCII. */
export function withoutFirst(pieces: readonly Piece[]): readonly Piece[] {
  const at = pieces.findIndex(({ length }) => length > 0);
  return pieces.slice(Math.max(at, 0)).map((piece, index) => {
    if (index > 0) return piece;
    return typeof piece === 'string' ? piece.slice(1) : piece.subarray(1);
  });
}

/** Bytes of pieces that follow one another, in as few arrays as is cheap. Long pieces are not copied. */
export function gathered(pieces: readonly Piece[]): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let short: Piece[] = [];
  const close = (): void => {
    if (short.length > 0) chunks.push(joined(short));
    short = [];
  };
  for (const piece of pieces) {
    if (typeof piece === 'string' || piece.length < SENT_FROM_WHERE_IT_IS) {
      if (piece.length > 0) short.push(piece);
    } else {
      close();
      chunks.push(piece);
    }
  }
  close();
  return chunks;
}

/** Copied once where all is ASCII, which takes as many bytes as characters. */
const joined = (pieces: readonly Piece[]): Uint8Array => {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    const next = at + piece.length;
    if (typeof piece !== 'string') bytes.set(piece, at);
    else if (encoder.encodeInto(piece, bytes.subarray(at, next)).read < piece.length) return joinedAnyText(pieces);
    at = next;
  }
  return bytes;
};

const joinedAnyText = (pieces: readonly Piece[]): Uint8Array => {
  const encoded = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece));
  const [first] = encoded;
  if (first !== undefined && encoded.length === 1) return first;
  const bytes = new Uint8Array(encoded.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const piece of encoded) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
};
