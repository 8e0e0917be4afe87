/**
 * Cuts a text so that each piece is at most `bytes` long inside a JSON string in UTF-8, never in the middle of a character.
 * A text that is empty is one piece. Where not even one character fits, each piece is one.
 */
export function pieces(text: string, bytes: number): string[] {
  const parts: string[] = [];
  let start = 0;
  let used = 0;
  let at = 0;
  for (const char of text) {
    const size = escapedBytes(char);
    if (used + size > bytes && at > start) {
      parts.push(text.slice(start, at));
      start = at;
      used = 0;
    }
    used += size;
    at += char.length;
  }
  parts.push(text.slice(start));
  return parts;
}

/** What a character takes in a JSON string. */
function escapedBytes(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  if (code === 0x22 || code === 0x5c) return 2;
  // Tab, line ends, backspace and form feed have short names.
  if (code < 0x20) return code >= 8 && code <= 13 && code !== 11 ? 2 : 6;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  // Half of a character is written as an escape.
  if (code >= 0xd800 && code <= 0xdfff) return 6;
  return code < 0x10000 ? 3 : 4;
}
