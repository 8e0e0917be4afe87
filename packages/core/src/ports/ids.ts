/** Identity, injected so that a test owns it. */
export interface Ids {
  /** A new id that starts with `prefix` and `_` and then has only letters and digits; at most 40 characters. */
  create(prefix: string): string;
}

const ID_BYTES = 16;
const DIGITS = '0123456789abcdef';

/** Random bytes for the next ids: asking the platform for many at once costs a fraction of asking for each. */
const pool = new Uint8Array(ID_BYTES * 128);
let taken = pool.length;

const UNDERSCORE = 95;

/** Made in one piece: a text that is put together from two keeps both of them beside itself, for as long as an id lives. */
function randomId(prefix: string): string {
  if (taken === pool.length) {
    crypto.getRandomValues(pool);
    taken = 0;
  }
  const codes: number[] = [];
  for (let at = 0; at < prefix.length; at++) codes.push(prefix.charCodeAt(at));
  codes.push(UNDERSCORE);
  for (const byte of pool.subarray(taken, (taken += ID_BYTES))) {
    codes.push(DIGITS.charCodeAt(byte >> 4), DIGITS.charCodeAt(byte & 15));
  }
  return String.fromCharCode(...codes);
}

/** Ids from the platform's random source, 128 random bits each. */
export const randomIds: Ids = { create: randomId };
