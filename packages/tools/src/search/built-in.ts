import { openRegular, type OpenedFile } from '../root/open.ts';
import { FileProblem } from '../root/problem.ts';
import { inFolder, type Root } from '../root/root.ts';
import { walk, type WalkEntry } from '../files/walk.ts';
import { compilePattern, matcherFor, type Matcher } from './matcher.ts';
import type { Piece } from './match-lines.ts';
import { readText } from './read-text.ts';
import type { Found, Scope, SearchQuery } from './query.ts';

const deepest = 100;
const filesAtOnce = 8;
/** Files up to this size are read at once and matched together; larger ones one after the other. */
const smallFile = 256 * 1024;

interface FilePieces {
  readonly path: string;
  readonly pieces: readonly Piece[];
}

/** Searches without any other program. Stops, with what it has, at the limit or when the signal is aborted. */
export async function searchBuiltIn(root: Root, scope: Scope, query: SearchQuery, signal: AbortSignal): Promise<Found> {
  const matcher = matcherFor(compilePattern(query.pattern, query.caseSensitive), signal);
  const collector = collect(matcher, query.limit);
  const skipped = { hardLinks: 0, unreadable: 0 };
  const stopped = (): boolean => collector.full || signal.aborted;

  const openEntry = async (entry: WalkEntry): Promise<OpenedFile | undefined> => {
    try {
      return await openRegular(entry.directory, entry.name, scope.pathOf(entry.path), undefined, root.policy);
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      if (error.code === 'hard_link') skipped.hardLinks += 1;
      else if (error.code === 'io') skipped.unreadable += 1;
      return undefined;
    }
  };
  const visit = async (entries: readonly WalkEntry[]): Promise<void> => {
    const wanted = entries.filter((entry) => entry.type === 'file' && scope.includes(entry.path));
    for (let from = 0; from < wanted.length && !stopped(); from += filesAtOnce) {
      const files = await Promise.all(wanted.slice(from, from + filesAtOnce).map(openEntry));
      const opened = files.filter((file) => file !== undefined);
      try {
        await searchFiles(opened, collector, signal);
      } finally {
        await Promise.all(opened.map((file) => file.handle.close()));
      }
    }
  };
  try {
    if (scope.file === undefined) {
      const how = { maxDepth: deepest, skip: query.skip, stopped };
      const report = await inFolder(root, scope.location, (directory) => walk(directory, how, visit));
      skipped.unreadable += report.unreadable;
    } else {
      const { name, path } = scope.file;
      const file = await openRegular(scope.location.directory, name, path, undefined, root.policy);
      try {
        await searchFiles([file], collector, signal);
      } finally {
        await file.handle.close();
      }
    }
  } catch (error) {
    // Ended in the middle of a file: what was found until then counts.
    if (!signal.aborted || !(error instanceof FileProblem) || error.code !== 'aborted') throw error;
  } finally {
    await matcher.close();
  }
  return { matches: collector.matches, more: collector.full, engine: 'built-in', ...skipped };
}

interface Collector {
  readonly matches: Found['matches'];
  /** More than the limit was found. */
  readonly full: boolean;
  add(files: readonly FilePieces[]): Promise<number>;
}

function collect(matcher: Matcher, limit: number): Collector {
  const matches: { path: string; line: number; text: string }[] = [];
  let full = false;
  return {
    matches,
    get full() {
      return full;
    },
    /** Returns how many lines the pieces had. */
    async add(files) {
      const pieces = files.flatMap((file) => file.pieces.map((piece) => ({ path: file.path, piece })));
      if (pieces.length === 0) return 0;
      const answers = await matcher.match(
        pieces.map(({ piece }) => piece),
        limit + 1 - matches.length,
      );
      for (const [index, answer] of answers.entries()) {
        const path = pieces[index]?.path ?? '';
        for (const { line, text } of answer.matches) matches.push({ path, line, text });
      }
      if (matches.length > limit) {
        full = true;
        matches.length = limit;
      }
      return answers.reduce((lines, answer) => lines + answer.lines, 0);
    },
  };
}

/** Searches files in their order: neighbours that are small together, large ones piece by piece. */
async function searchFiles(files: readonly OpenedFile[], collector: Collector, signal: AbortSignal): Promise<void> {
  const small = await Promise.all(
    files.map((file) => (file.stats.size <= smallFile ? wholeFile(file, signal) : Promise.resolve(undefined))),
  );
  let waiting: FilePieces[] = [];
  for (const [index, file] of files.entries()) {
    const pieces = small[index];
    if (pieces !== undefined) {
      waiting.push(pieces);
      continue;
    }
    await collector.add(waiting);
    waiting = [];
    let firstLine = 1;
    const take = async (text: string): Promise<boolean> => {
      firstLine += await collector.add([{ path: file.path, pieces: [{ text, firstLine }] }]);
      return !collector.full;
    };
    if (!collector.full) await readText(file, take, signal);
  }
  if (!collector.full) await collector.add(waiting);
}

async function wholeFile(file: OpenedFile, signal: AbortSignal): Promise<FilePieces> {
  const texts: string[] = [];
  await readText(file, async (text) => texts.push(text) > 0, signal);
  return { path: file.path, pieces: texts.length === 0 ? [] : [{ text: texts.join(''), firstLine: 1 }] };
}
