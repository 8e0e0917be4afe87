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

/** The character codes of an id of each prefix, to be filled in: a new list for every id would cost more than the id. */
const drafts = new Map<string, number[]>();

/** Prefixes are words of the code that asks for ids; more of them than this are something else, and are not kept. */
const MOST_DRAFTS = 64;

const draftOf = (prefix: string): number[] => {
  const draft = Array.from({ length: prefix.length + 1 + 2 * ID_BYTES }, (_, at) => `${prefix}_`.charCodeAt(at) || 0);
  if (drafts.size < MOST_DRAFTS) drafts.set(prefix, draft);
  return draft;
};

/** Made in one piece: a text that is put together from two keeps both of them beside itself, for as long as an id lives. */
function randomId(prefix: string): string {
  if (taken === pool.length) {
    crypto.getRandomValues(pool);
    taken = 0;
  }
  const codes = drafts.get(prefix) ?? draftOf(prefix);
  for (let at = codes.length - 2 * ID_BYTES; at < codes.length; at += 2) {
    const byte = pool[taken++] ?? 0;
    codes[at] = DIGITS.charCodeAt(byte >> 4);
    codes[at + 1] = DIGITS.charCodeAt(byte & 15);
  }
  return String.fromCharCode(...codes);
}

/** Ids from the platform's random source, 128 random bits each. */
export const randomIds: Ids = { create: randomId };
