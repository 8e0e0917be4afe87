/** Earlier prompts, walked through with Up and Down and searched with Ctrl+R. */
export interface History {
  add(text: string): void;
  /** The one before, or after; the draft that was left is after the newest. Null where there is none. */
  older(draft: string): string | null;
  newer(): string | null;
  /** The newest that has these words, skipping so many. */
  find(words: string, skip: number): string | null;
  /** The draft is another one: walking begins anew. */
  leave(): void;
}

const MOST = 1000;

/** @param earlier oldest first */
export function createHistory(earlier: readonly string[]): History {
  const texts = [...earlier];
  let at: number | null = null;
  let draft = '';
  return {
    add(text) {
      at = null;
      if (text.trim() === '' || texts.at(-1) === text) return;
      texts.push(text);
      if (texts.length > MOST) texts.shift();
    },
    older(current) {
      if (texts.length === 0 || at === 0) return null;
      if (at === null) draft = current;
      at = (at ?? texts.length) - 1;
      return texts[at] ?? null;
    },
    newer() {
      if (at === null) return null;
      at += 1;
      if (at < texts.length) return texts[at] ?? null;
      at = null;
      return draft;
    },
    find(words, skip) {
      const wanted = words.toLowerCase().split(/\s+/);
      const found = texts.toReversed().filter((text) => wanted.every((word) => text.toLowerCase().includes(word)));
      return [...new Set(found)][skip] ?? null;
    },
    leave() {
      at = null;
    },
  };
}
