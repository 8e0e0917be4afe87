/** Characters turned at a time: a multiple of four, so that no piece needs padding of its own. */
const PIECE = 32_768;

/** The bytes of a base64 text, in pieces. Null when it isn't one. */
export function base64Bytes(text: string): readonly Uint8Array[] | null {
  const pieces: Uint8Array[] = [];
  try {
    for (let at = 0; at < text.length; at += PIECE) {
      const binary = atob(text.slice(at, at + PIECE));
      const bytes = new Uint8Array(binary.length);
      for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
      pieces.push(bytes);
    }
  } catch {
    return null;
  }
  return pieces;
}

/** Bytes turned at a time: a multiple of three, for the same reason. */
const BYTES = 24_576;

/** The base64 of bytes, in any runtime. */
export function base64Of(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += BYTES) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + BYTES))));
  }
  return parts.join('');
}
