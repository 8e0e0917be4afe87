import type { Clock, ToolContext, ToolResult } from '@treadle/core';
import { withNearNames } from '../files/near-names.ts';
import { counted, stopIfAborted, withProblems } from '../files/outcome.ts';
import { requireRegular } from '../root/open.ts';
import { FileProblem } from '../root/problem.ts';
import type { Location } from '../root/locate.ts';
import type { Root } from '../root/root.ts';
import { compileGlob } from '../text/glob.ts';
import { cutLine, safeLine } from '../text/safe-text.ts';
import { searchBuiltIn } from './built-in.ts';
import { compilePattern } from './matcher.ts';
import type { Found, Scope, SearchQuery } from './query.ts';
import { searchRipgrep } from './ripgrep.ts';

export interface SearchArguments {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly case_sensitive?: boolean;
  readonly limit?: number;
}

export interface SearchSettings {
  readonly root: Root;
  readonly limit: number;
  readonly timeLimitMs: number;
  readonly skip: ReadonlySet<string>;
  readonly clock: Clock;
  /** The absolute path of ripgrep; undefined when there is none. */
  readonly findRipgrep: () => Promise<string | undefined>;
}

const longestLine = 500;

export function search(args: SearchArguments, context: ToolContext, settings: SearchSettings): Promise<ToolResult> {
  return withProblems(async () => {
    const { root, clock, timeLimitMs } = settings;
    stopIfAborted(context.signal, 'The search');
    const query: SearchQuery = {
      pattern: args.pattern,
      caseSensitive: args.case_sensitive ?? false,
      limit: args.limit ?? settings.limit,
      glob: args.glob,
      skip: settings.skip,
    };
    const scope = await scopeOf(root, args.path ?? '.', args.glob);
    const timeUp = new AbortController();
    const cancelTimer = clock.after(timeLimitMs, () => timeUp.abort());
    const signal = AbortSignal.any([context.signal, timeUp.signal]);
    try {
      const found = await searchWithBest(settings, scope, query, signal);
      stopIfAborted(context.signal, 'The search');
      return present(found, timeUp.signal.aborted ? timeLimitMs : undefined);
    } finally {
      cancelTimer();
      await scope.location.close();
    }
  });
}

async function searchWithBest(
  settings: SearchSettings,
  scope: Scope,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<Found> {
  const { root, clock, timeLimitMs } = settings;
  const program = query.pattern === '' ? undefined : await settings.findRipgrep();
  if (program !== undefined) {
    try {
      const found = await searchRipgrep({ program, root, scope, query, signal, clock, timeLimitMs });
      if (found !== undefined) return found;
    } catch (error) {
      // A pattern that is no regular expression at all is the model's mistake, not ripgrep's.
      compilePattern(query.pattern, query.caseSensitive);
      if (signal.aborted) throw error;
    }
  }
  return searchBuiltIn(root, scope, query, signal);
}

async function scopeOf(root: Root, path: string, glob: string | undefined): Promise<Scope> {
  const folder = root.relative(path);
  const matches = glob === undefined ? () => true : compileGlob(glob);
  const location = await withNearNames(root, path, async () => {
    const found = await root.locate(path);
    if (found.stats !== undefined) return found;
    await found.close();
    throw new FileProblem('not_found', `${folder} does not exist.`);
  });
  try {
    return { ...shapeOf(location, folder, root), location, pathOf, includes };
  } catch (error) {
    await location.close();
    throw error;
  }

  function pathOf(below: string): string {
    return folder === '.' ? below : `${folder}/${below}`;
  }
  function includes(below: string): boolean {
    return matches(below) || (folder !== '.' && matches(pathOf(below)));
  }
}

function shapeOf(location: Location, folder: string, root: Root): Pick<Scope, 'folder' | 'file'> {
  const { name, stats } = location;
  if (name === undefined || stats === undefined || stats.isDirectory()) return { folder, file: undefined };
  requireRegular(stats, folder, root.policy);
  return { folder: '.', file: { name, path: folder } };
}

function present(found: Found, timedOutMs: number | undefined): ToolResult {
  const matches = found.matches.map(({ path, line, text }) => ({
    path,
    line,
    text: cutLine(safeLine(text), longestLine),
  }));
  const lines = matches.map(({ path, line, text }) => `${safeLine(path)}:${line}: ${text}`);
  const truncated = found.more || timedOutMs !== undefined;
  const notes: string[] = [];
  if (timedOutMs !== undefined) {
    notes.push(
      `stopped after ${timedOutMs / 1000} s: the search is incomplete; use a simpler pattern, a path or a glob`,
    );
  }
  if (found.more)
    notes.push(`the first ${matches.length} matching lines; there are more: raise limit or narrow the search`);
  if (found.hardLinks > 0) notes.push(`${counted(found.hardLinks, 'file')} with several hard links not searched`);
  if (found.unreadable > 0) notes.push(`files or folders that could not be read: ${found.unreadable}`);
  const none = lines.length === 0 ? ['No matching lines.'] : [];
  return {
    content: [...none, ...lines, ...notes.map((note) => `[${note}]`)].join('\n'),
    details: { matches, truncated, engine: found.engine },
  };
}
