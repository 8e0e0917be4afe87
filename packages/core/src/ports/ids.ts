/** Identity, injected so that a test owns it. */
export interface Ids {
  /** A new id that starts with `prefix` and `_` and then has only letters and digits; at most 40 characters. */
  create(prefix: string): string;
}

const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

/** Ids from the platform's random source, 128 random bits each. */
export const randomIds: Ids = {
  create: (prefix) => `${prefix}_${Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join('')}`,
};
