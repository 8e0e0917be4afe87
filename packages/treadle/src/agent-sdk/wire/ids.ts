import { createHash } from 'node:crypto';

/** The UUID of something that has another name here: always the same one. */
export function uuidOf(...names: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(names.join('\0')).digest('hex');
  // Version 8: made by a rule of our own.
  const variant = (8 + (Number.parseInt(hash[16] ?? '0', 16) % 4)).toString(16);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
