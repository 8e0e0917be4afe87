import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import type { Directory } from '../root/directory.ts';
import { unless } from '../root/problem.ts';

export interface WalkEntry {
  readonly name: string;
  /** Relative to where the walk began, with `/`. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link' | 'other';
  readonly directory: Directory;
}

export interface WalkOptions {
  /** Entries of the first directory have depth 1; directories at this depth are not opened. */
  readonly maxDepth: number;
  /** Names of directories that are neither reported nor opened. */
  readonly skip: ReadonlySet<string>;
  /** Looked at before each directory and between entries. */
  readonly stopped: () => boolean;
}

export interface WalkReport {
  /** Names of directories that were skipped. */
  readonly skipped: Set<string>;
  /** Directories left closed because of their depth. */
  tooDeep: number;
  /** Directories that could not be read. */
  unreadable: number;
}

/** What to do with the entries of one directory, in order of their names. */
export type Visit = (entries: readonly WalkEntry[]) => Promise<void>;

/**
 * Walks a directory depth first, names in order, never through a symbolic link. Reports the entries that come between
 * two directories together, so that a visitor may look at them at once. Holds one open directory per level.
 */
export async function walk(start: Directory, options: WalkOptions, visit: Visit): Promise<WalkReport> {
  const report: WalkReport = { skipped: new Set(), tooDeep: 0, unreadable: 0 };
  await walkDirectory(start, '', 1, options, visit, report);
  return report;
}

async function walkDirectory(
  directory: Directory,
  prefix: string,
  depth: number,
  options: WalkOptions,
  visit: Visit,
  report: WalkReport,
): Promise<void> {
  if (options.stopped()) return;
  let waiting: WalkEntry[] = [];
  const entries = (await readable(readdir(directory.self, { withFileTypes: true }), report)) ?? [];
  for (const found of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (options.stopped()) return;
    const entry: WalkEntry = { name: found.name, path: prefix + found.name, type: typeOf(found), directory };
    if (entry.type === 'directory' && options.skip.has(entry.name)) {
      report.skipped.add(entry.name);
      continue;
    }
    waiting.push(entry);
    if (entry.type !== 'directory') continue;
    if (depth >= options.maxDepth) {
      report.tooDeep += 1;
      continue;
    }
    await visit(waiting);
    waiting = [];
    const child = await readable(directory.enter(entry.name), report);
    if (child === undefined) continue;
    try {
      await walkDirectory(child, `${entry.path}/`, depth + 1, options, visit, report);
    } finally {
      await child.close();
    }
  }
  if (waiting.length > 0) await visit(waiting);
}

/** What `work` finds; undefined, and counted, when that can't be read: gone, swapped for a link, or not ours. */
async function readable<Value>(work: Promise<Value>, report: WalkReport): Promise<Value | undefined> {
  const found = await unless(work);
  if (found === undefined) report.unreadable += 1;
  return found;
}

function typeOf(entry: Dirent): WalkEntry['type'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

/** The entry's own stats; undefined when it is gone. */
export const statsOfEntry = ({ directory, name }: WalkEntry): Promise<Stats | undefined> =>
  unless(lstat(directory.at(name)));
