/** Identity, injected so that a test owns it. */
export interface Ids {
  /** A new id that starts with `prefix` and `_` and then has only letters and digits; at most 40 characters. */
  create(prefix: string): string;
}

/** Ids from the platform's random source, 122 random bits each. */
export const randomIds: Ids = {
  create: (prefix) => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`,
};
