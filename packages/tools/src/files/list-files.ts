import type { Clock, ToolContext, ToolResult } from '@treadle/core';
import type { Directory } from '../root/directory.ts';
import { FileProblem } from '../root/problem.ts';
import { inFolder, type Root } from '../root/root.ts';
import { compileGlob, type GlobMatcher } from '../text/glob.ts';
import { safeLine } from '../text/safe-text.ts';
import { withNearNames } from './near-names.ts';
import { counted, stopIfAborted, withProblems } from './outcome.ts';
import { statsOfEntry, walk, type WalkEntry, type WalkReport } from './walk.ts';

export type ListSort = 'path' | 'size' | 'modified';

export interface ListFilesArguments {
  readonly path?: string;
  readonly pattern?: string;
  readonly max_depth?: number;
  readonly limit?: number;
  readonly sort?: ListSort;
}

/** How much is listed. */
export interface ListLimits {
  /** Names of folders passed over. Default {@link defaultSkippedFolders}. */
  readonly skipFolders?: readonly string[];
  /** When the call doesn't say. Default 3. */
  readonly maxDepth?: number;
  /** Entries, when the call doesn't say. Default 200. */
  readonly limit?: number;
  /** Milliseconds after which the list ends as it is. Default 10 s. */
  readonly timeLimitMs?: number;
}

interface Listed {
  /** Relative to the root. */
  readonly path: string;
  readonly type: WalkEntry['type'];
  readonly bytes: number;
  readonly modified: number;
}

const statsAtOnce = 32;

export function listFiles(
  root: Root,
  args: ListFilesArguments,
  context: ToolContext,
  clock: Clock,
  limits: Required<ListLimits>,
): Promise<ToolResult> {
  return withProblems(async () => {
    const folder = root.relative(args.path ?? '.');
    const sort = args.sort ?? 'path';
    const limit = args.limit ?? limits.limit;
    const matches = args.pattern === undefined ? () => true : globFor(folder, args.pattern);
    const list = topList(comparisons[sort], limit);
    const maxDepth = args.max_depth ?? limits.maxDepth;

    let timedOut = false;
    const cancelTimer = clock.after(limits.timeLimitMs, () => {
      timedOut = true;
    });
    const stopped = (): boolean => timedOut || context.signal.aborted;
    try {
      const report = await withFolder(root, args.path ?? '.', (directory) =>
        walk(directory, { maxDepth, skip: new Set(limits.skipFolders), stopped }, async (entries) => {
          for (const entry of await measure(
            entries.filter((one) => fits(one, sort, matches)),
            folder,
            stopped,
          ))
            list.add(entry);
        }),
      );
      stopIfAborted(context.signal, `Listing ${folder}`);
      return present(folder, list.take(), list.total, report, { ...(timedOut ? { limits } : {}), maxDepth });
    } finally {
      cancelTimer();
    }
  });
}

/** Matches against the path from the listed folder and from the root: a model may mean either. */
function globFor(folder: string, pattern: string): GlobMatcher {
  const glob = compileGlob(pattern);
  return (path) => glob(path) || (folder !== '.' && glob(`${folder}/${path}`));
}

const fits = (entry: WalkEntry, sort: ListSort, matches: GlobMatcher): boolean =>
  (sort !== 'size' || entry.type === 'file') && matches(entry.path);

async function withFolder<T>(root: Root, path: string, work: (directory: Directory) => Promise<T>): Promise<T> {
  const location = await withNearNames(root, path, async () => {
    const found = await root.locate(path);
    if (found.stats?.isDirectory() === true) return found;
    await found.close();
    const shown = root.relative(path);
    if (found.stats === undefined) throw new FileProblem('not_found', `${shown} does not exist.`);
    throw new FileProblem('not_directory', `${shown} is a file, not a directory. Use read_file to read it.`);
  });
  try {
    return await inFolder(root, location, work);
  } finally {
    await location.close();
  }
}

async function measure(entries: readonly WalkEntry[], folder: string, stopped: () => boolean): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (let from = 0; from < entries.length && !stopped(); from += statsAtOnce) {
    const batch = entries.slice(from, from + statsAtOnce);
    const measured = await Promise.all(batch.map(async (entry) => ({ entry, stats: await statsOfEntry(entry) })));
    for (const { entry, stats } of measured) {
      if (stats === undefined) continue;
      const path = folder === '.' ? entry.path : `${folder}/${entry.path}`;
      listed.push({ path, type: entry.type, bytes: entry.type === 'file' ? stats.size : 0, modified: stats.mtimeMs });
    }
  }
  return listed;
}

type Compare = (a: Listed, b: Listed) => number;

const byPath: Compare = (a, b) => (a.path < b.path ? -1 : Number(a.path > b.path));

const comparisons: Readonly<Record<ListSort, Compare>> = {
  path: byPath,
  size: (a, b) => b.bytes - a.bytes || byPath(a, b),
  modified: (a, b) => b.modified - a.modified || byPath(a, b),
};

/** Keeps the first `limit` of what is added, in order, in memory that does not grow with what is added. */
function topList(
  compare: Compare,
  limit: number,
): { add(entry: Listed): void; take(): readonly Listed[]; total: number } {
  let kept: Listed[] = [];
  const shrink = (): void => {
    kept = kept.sort(compare).slice(0, limit);
  };
  return {
    total: 0,
    add(entry) {
      this.total += 1;
      kept.push(entry);
      if (kept.length > limit * 2 + 1000) shrink();
    },
    take() {
      shrink();
      return kept;
    },
  };
}

function present(
  folder: string,
  entries: readonly Listed[],
  total: number,
  report: WalkReport,
  bounds: { readonly limits?: Required<ListLimits>; readonly maxDepth: number },
): ToolResult {
  const sizes = entries.map((entry) => (entry.type === 'file' ? String(entry.bytes) : '-'));
  const width = Math.max(1, ...sizes.map((size) => size.length));
  const lines = entries.map(
    (entry, index) => `${(sizes[index] ?? '').padStart(width)}  ${safeLine(entry.path)}${suffixes[entry.type]}`,
  );
  const truncated = bounds.limits !== undefined || entries.length < total;
  const notes = notesOn(entries.length, total, report, bounds);
  const empty = entries.length === 0 ? [`${folder}: nothing ${total === 0 ? 'found' : 'shown'}.`] : [];
  return {
    content: [...empty, ...lines, ...notes.map((note) => `[${note}]`)].join('\n'),
    details: { entries: entries.map(({ path, bytes, type }) => ({ path, bytes, type })), total, truncated },
  };
}

const suffixes: Readonly<Record<WalkEntry['type'], string>> = {
  file: '',
  directory: '/',
  link: ' (symbolic link)',
  other: ' (device, socket or pipe)',
};

function notesOn(
  shown: number,
  total: number,
  report: WalkReport,
  bounds: { readonly limits?: Required<ListLimits>; readonly maxDepth: number },
): string[] {
  const notes: string[] = [];
  if (bounds.limits !== undefined) {
    notes.push(`stopped after ${bounds.limits.timeLimitMs / 1000} s: the list is incomplete; list a smaller folder`);
  }
  if (shown < total)
    notes.push(`${shown} of ${total} entries shown; raise limit, give a pattern or list a smaller folder`);
  if (report.tooDeep > 0) {
    notes.push(
      `${counted(report.tooDeep, 'folder')} at max_depth ${bounds.maxDepth} not opened; raise max_depth to see more`,
    );
  }
  if (report.skipped.size > 0) notes.push(`not listed: ${[...report.skipped].toSorted().join(', ')}`);
  if (report.unreadable > 0) notes.push(`${counted(report.unreadable, 'folder')} could not be read`);
  return notes;
}
