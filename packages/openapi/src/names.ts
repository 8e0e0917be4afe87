import { createHash } from 'node:crypto';

/** Longer names are refused by some providers. */
const MAX_NAME = 64;

/**
 * A name that providers take, out of any text, and different from those that are taken: too long a one ends in a piece of
 * its hash, so that it stays the same whatever else the document has.
 */
export function safeName(wanted: string, taken: ReadonlySet<string>, also = ''): string {
  const kept = new RegExp(`[^A-Za-z0-9_${also}-]+`, 'g');
  const clean = wanted.replace(kept, '_').replace(/^_+(?=.)|(?<=.)_+$/g, '') || 'operation';
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
  const short = clean.length <= MAX_NAME ? clean : `${clean.slice(0, MAX_NAME - 9)}_${digest(wanted)}`;
  if (!taken.has(short)) return short;
  for (let number = 2; ; number += 1) {
    const next = `${short.slice(0, MAX_NAME - 1 - String(number).length)}_${number}`;
    if (!taken.has(next)) return next;
  }
}
