import { cutLine, safeLine } from '../text/safe-text.ts';
import { similarity } from '../text/similar.ts';

const mostLinesShown = 6;
const longestLineShown = 200;
/** Comparing stops after so many characters: a hint is not worth more. */
const comparedCharacters = 2_000_000;
const alikeEnough = 0.5;

interface Form {
  readonly differs: string;
  apply(line: string): string;
}

const quotes = /[\u2018\u2019\u201a\u201b]/g;
const doubleQuotes = /[\u201c-\u201f]/g;
const dashes = /[\u2010-\u2015\u2212]/g;
const whitespace = /\s+/g;

/** From the smallest difference to the largest; each includes the ones before. */
const forms: readonly Form[] = [
  { differs: 'whitespace at the end of lines', apply: (line) => line.trimEnd() },
  { differs: 'whitespace (tabs, spaces or indentation)', apply: (line) => line.trim().replace(whitespace, ' ') },
  { differs: 'quotes, dashes or the Unicode form of characters', apply: typewritten },
  { differs: 'upper and lower case', apply: (line) => typewritten(line).toLowerCase() },
];

function typewritten(line: string): string {
  const plain = line.replace(quotes, "'").replace(doubleQuotes, '"').replace(dashes, '-');
  return plain.normalize('NFKC').trim().replace(whitespace, ' ');
}

/** A sentence about what in `text` is closest to `oldText`, which does not occur in it. Both with LF line ends. */
export function nearMatchHint(text: string, oldText: string): string {
  const lines = text.split('\n');
  const wanted = trimBlankEnds(oldText.split('\n'));
  if (wanted.length === 0) return 'The file has no such run of blank lines or whitespace.';
  if (wanted.every((line) => /^\s*\d+\t/.test(line))) {
    return 'old_text seems to contain the line numbers that read_file puts before each line. Leave them out.';
  }
  for (const form of forms) {
    const at = findLines(lines, wanted, form);
    if (at !== undefined) {
      return `There is a match at line ${at + 1} that differs only in ${form.differs}. The file has:\n${quote(lines, at, wanted.length)}`;
    }
  }
  return closestLines(lines, wanted);
}

function trimBlankEnds(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== '');
  const last = lines.findLastIndex((line) => line.trim() !== '');
  return first < 0 ? [] : lines.slice(first, last + 1);
}

/** The index of the first place where all wanted lines follow each other, compared in `form`; parts of lines count. */
function findLines(lines: readonly string[], wanted: readonly string[], form: Form): number | undefined {
  const have = lines.map((line) => form.apply(line));
  const want = wanted.map((line) => form.apply(line));
  const last = want.length - 1;
  const matches = (line: string | undefined, index: number): boolean => {
    const part = want[index] ?? '';
    if (line === undefined) return false;
    if (last === 0) return line.includes(part);
    if (index === 0) return line.endsWith(part);
    return index === last ? line.startsWith(part) : line === part;
  };
  const at = have.findIndex((_, start) => want.every((_part, index) => matches(have[start + index], index)));
  return at < 0 ? undefined : at;
}

function closestLines(lines: readonly string[], wanted: readonly string[]): string {
  const first = (wanted[0] ?? '').trim().slice(0, longestLineShown);
  let best = -1;
  let bestScore = 0;
  let compared = 0;
  for (const [index, line] of lines.entries()) {
    compared += line.length + first.length;
    if (compared > comparedCharacters) break;
    const score = similarity(first, line.trim().slice(0, longestLineShown));
    if (score > bestScore) {
      best = index;
      bestScore = score;
    }
  }
  if (bestScore < alikeEnough) return 'Nothing in the file is close to it. Read the file and copy the text exactly.';
  return `The closest lines begin at line ${best + 1}:\n${quote(lines, best, wanted.length)}`;
}

/** Lines as JSON strings, so that tabs and spaces can be told apart. */
function quote(lines: readonly string[], from: number, count: number): string {
  const shown = lines.slice(from, from + Math.min(count, mostLinesShown));
  return shown
    .map((line, index) => `${from + index + 1}: ${JSON.stringify(cutLine(safeLine(line), longestLineShown))}`)
    .join('\n');
}
