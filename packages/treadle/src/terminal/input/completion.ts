import { fuzzyMatch } from '@earendil-works/pi-tui/dist/fuzzy.js';

/** Something that the input line can be completed to. */
export interface Choice {
  /** What replaces the word. */
  readonly value: string;
  readonly about: string;
}

/** Choices for the word at the caret. */
export interface Completion {
  /** Characters before the caret that a choice replaces. */
  readonly replaces: number;
  readonly choices: readonly Choice[];
}

/** Where choices come from. */
export interface CompletionSource {
  /** The commands, with what they do; none until they are known. `changed` is called when they are. */
  commands(changed: () => void): readonly Choice[];
  /** Paths of the folder; null until they are known. */
  files(changed: () => void): readonly string[] | null;
}

const MOST = 8;
const COMMAND = /^\/([\w:-]*)$/;
const FILE = /(?:^|\s)@("[^"]*|[^\s"]*)$/;

/** What may stand at the caret: a command at the beginning, a file after `@`. Null where there is nothing. */
export function completionsOf(before: string, source: CompletionSource, changed: () => void): Completion | null {
  const command = COMMAND.exec(before);
  if (command) {
    const [all, word = ''] = command;
    const choices = best(source.commands(changed), word, ({ value }) => value.slice(1));
    return choices.length === 0 ? null : { replaces: all.length, choices };
  }
  const file = FILE.exec(before);
  if (!file) return null;
  const typed = file[1] ?? '';
  const files = source.files(changed);
  if (files === null) return null;
  const choices = best(files, typed.replace(/^"/, ''), (path) => path).map((path) => ({
    value: /\s/.test(path) ? `@"${path}" ` : `@${path} `,
    about: '',
  }));
  return choices.length === 0 ? null : { replaces: typed.length + 1, choices };
}

/** Those that match best: with the word in them first, then those with its letters in order. */
function best<Item>(items: readonly Item[], word: string, textOf: (item: Item) => string): Item[] {
  if (word === '') return items.slice(0, MOST);
  const wanted = word.toLowerCase();
  const found: { readonly item: Item; readonly score: number }[] = [];
  /** Keeps the best ones, in order: a large repository has thousands that match. */
  const add = (item: Item, score: number): void => {
    if (found.length === MOST && score >= (found.at(-1)?.score ?? 0)) return;
    const place = found.findIndex((other) => other.score > score);
    found.splice(place === -1 ? found.length : place, 0, { item, score });
    if (found.length > MOST) found.pop();
  };
  for (const item of items) {
    const text = textOf(item).toLowerCase();
    const at = text.indexOf(wanted);
    if (at === -1) continue;
    add(item, (at === 0 || at === text.lastIndexOf('/') + 1 ? 0 : 100) + text.length / 1000);
  }
  if (found.length === MOST) return found.map(({ item }) => item);
  for (const item of items) {
    const text = textOf(item);
    if (text.toLowerCase().includes(wanted)) continue;
    const { matches, score } = fuzzyMatch(word, text);
    if (matches) add(item, 1000 + score);
  }
  return found.map(({ item }) => item);
}
