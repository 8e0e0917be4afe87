import { TextDecoder } from 'node:util';

/** How a file's bytes become text. `latin1` stands for bytes that are not UTF-8. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1';

export type Sniffed =
  { readonly kind: 'text'; readonly encoding: Encoding; readonly bom: boolean } | { readonly kind: 'binary' };

/** Tells text from binary by the beginning of a file; some thousand bytes are enough. `whole`: there is no more. */
export function sniff(start: Uint8Array, whole: boolean): Sniffed {
  if (beginsWith(start, [0xff, 0xfe, 0, 0]) || beginsWith(start, [0, 0, 0xfe, 0xff])) return { kind: 'binary' };
  if (beginsWith(start, [0xff, 0xfe])) return { kind: 'text', encoding: 'utf-16le', bom: true };
  if (beginsWith(start, [0xfe, 0xff])) return { kind: 'text', encoding: 'utf-16be', bom: true };
  if (start.includes(0)) return { kind: 'binary' };
  if (isUtf8(start, whole)) return { kind: 'text', encoding: 'utf-8', bom: beginsWith(start, [0xef, 0xbb, 0xbf]) };
  return looksLikeLatin1(start) ? { kind: 'text', encoding: 'latin1', bom: false } : { kind: 'binary' };
}

/** A decoder for a stream of the file's bytes, the byte order mark left out; never throws. */
export const decoderFor = (encoding: Encoding): TextDecoder =>
  new TextDecoder(encoding === 'latin1' ? 'windows-1252' : encoding);

/** True when `bytes` is UTF-8; unless `whole`, the last character may be cut off. */
export function isUtf8(bytes: Uint8Array, whole: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !whole });
    return true;
  } catch {
    return false;
  }
}

const beginsWith = (bytes: Uint8Array, expected: readonly number[]): boolean =>
  expected.every((byte, index) => bytes[index] === byte);

/** Text in an old encoding has hardly any control characters; compressed or encrypted data has them everywhere. */
function looksLikeLatin1(bytes: Uint8Array): boolean {
  let controls = 0;
  for (const byte of bytes) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c && byte !== 0x1b) controls += 1;
  }
  return controls * 100 <= bytes.length;
}
