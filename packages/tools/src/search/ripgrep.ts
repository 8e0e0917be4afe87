import { relative, resolve } from 'node:path';
import type { Clock } from '@treadle/core';
import { runCommand } from '../bash/command.ts';
import { FileProblem } from '../root/problem.ts';
import type { Root } from '../root/root.ts';
import { excerpt } from './match-lines.ts';
import type { Found, FoundLine, Scope, SearchQuery } from './query.ts';
import { readText } from './read-text.ts';

/** A line that ripgrep says matches. */
export interface Hit {
  /** As ripgrep printed it. */
  readonly path: string;
  readonly line: number;
  /** Where in the line the match begins, in bytes, from 1. */
  readonly column: number;
}

const graceMs = 500;
/** Hits that turn out not to be readable here are left out, so a few more than wanted are asked for. */
const spareHits = 100;

const OPTIONS = (
  '--no-config --no-ignore --hidden --no-follow --no-messages --color=never --no-heading --with-filename --line-number ' +
  '--column --null --crlf --max-columns=1 --sort=path'
).split(' ');

/**
 * The arguments for ripgrep: no configuration files, no ignore files, symbolic links not followed, the pattern and the
 * target never taken for options. Lines themselves are not printed (`--max-columns 1`): only where they are.
 */
export function ripgrepArguments(query: SearchQuery, scope: Pick<Scope, 'folder' | 'file'>, root: string): string[] {
  const target = scope.file?.path ?? scope.folder;
  const globs =
    query.glob === undefined ? [] : globArguments(query.glob, relative(root, resolve(root, scope.folder)) || '.');
  const skips = [...query.skip].flatMap((name) => ['--glob', `!${escapeGlob(name)}/`]);
  return [
    ...OPTIONS,
    query.caseSensitive ? '--case-sensitive' : '--ignore-case',
    // The last glob that matches decides, so what is skipped comes after what is wanted.
    ...globs,
    ...skips,
    '-e',
    query.pattern,
    '--',
    target === '.' ? './' : target.startsWith('/') ? target : `./${target}`,
  ];
}

/** A glob means the path from the searched folder or from the root. */
function globArguments(glob: string, folder: string): string[] {
  if (!glob.includes('/')) return ['--glob', glob];
  const anchored = `/${glob.replace(/^\.?\//, '')}`;
  const below = folder === '.' ? [] : ['--glob', `/${escapeGlob(folder)}${anchored}`];
  return ['--glob', anchored, ...below];
}

const escapeGlob = (text: string): string => text.replace(/[\\*?[\]{}!]/g, '\\$&');

/** Reads ripgrep's output as it comes: each record is a path, NUL, `line:column:text`, a line feed. */
export function hitParser(onHit: (hit: Hit) => void): { push(bytes: Buffer): void } {
  const decoder = new TextDecoder();
  let open = '';
  return {
    push(bytes) {
      open += decoder.decode(bytes, { stream: true });
      let from = 0;
      for (;;) {
        const nul = open.indexOf('\0', from);
        const end = nul < 0 ? -1 : open.indexOf('\n', nul);
        if (end < 0) break;
        const [line = 0, column = 0] = open
          .slice(nul + 1, end)
          .split(':', 2)
          .map(Number);
        if (line > 0 && column > 0) onHit({ path: open.slice(from, nul).replace(/^\.\//, ''), line, column });
        from = end + 1;
      }
      open = open.slice(from);
    },
  };
}

export interface RipgrepRun {
  readonly program: string;
  readonly root: Root;
  readonly scope: Scope;
  readonly query: SearchQuery;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeLimitMs: number;
}

/**
 * Searches with ripgrep, which only says where: the lines shown are read here, through the root, so that a file swapped
 * for a link in the meantime shows nothing. Undefined when ripgrep can't do it, for example because its regular
 * expressions don't know the pattern's syntax.
 */
export async function searchRipgrep(run: RipgrepRun): Promise<Found | undefined> {
  const { query, scope, root, signal } = run;
  const hits: Hit[] = [];
  const wanted = query.limit + 1 + spareHits;
  let full = false;
  const parser = hitParser((hit) => {
    if (hits.length < wanted) hits.push(hit);
    else full = true;
  });
  const end = await runCommand({
    file: run.program,
    args: ripgrepArguments(query, scope, root.path),
    folder: root.path,
    environment: {},
    timeoutMs: run.timeLimitMs,
    graceMs,
    signal,
    clock: run.clock,
    onOutput(stream, bytes, stop) {
      if (stream === 'stdout') parser.push(bytes);
      if (full) stop();
    },
  });
  if (hits.length === 0 && end.exitCode !== 0 && end.exitCode !== 1 && end.stopped === undefined) return undefined;
  const { lines, hardLinks, unreadable } = await readHits(root, scope, hits, query.limit + 1, signal);
  return {
    matches: lines.slice(0, query.limit),
    more: full || lines.length > query.limit,
    engine: 'ripgrep',
    hardLinks,
    unreadable,
  };
}

async function readHits(
  root: Root,
  scope: Scope,
  hits: readonly Hit[],
  limit: number,
  signal: AbortSignal,
): Promise<{ lines: FoundLine[]; hardLinks: number; unreadable: number }> {
  const byPath = Map.groupBy(hits, (hit) => hit.path);
  const lines: FoundLine[] = [];
  let hardLinks = 0;
  let unreadable = 0;
  for (const [path, group] of byPath) {
    if (lines.length >= limit || signal.aborted) break;
    if (scope.file === undefined && !scope.includes(scope.folder === '.' ? path : path.slice(scope.folder.length + 1)))
      continue;
    try {
      lines.push(...(await readLines(root, path, group, signal)));
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      if (error.code === 'hard_link') hardLinks += 1;
      else unreadable += 1;
    }
  }
  return { lines: lines.slice(0, limit), hardLinks, unreadable };
}

/** The lines of a file that were hit, read through the root. */
async function readLines(root: Root, path: string, hits: readonly Hit[], signal: AbortSignal): Promise<FoundLine[]> {
  const found: FoundLine[] = [];
  const columns = new Map(hits.map((hit) => [hit.line, hit.column]));
  const file = await root.open(path);
  let line = 1;
  const take = (text: string): boolean => {
    for (let from = 0; from < text.length && columns.size > 0;) {
      const newline = text.indexOf('\n', from);
      const end = newline < 0 ? text.length : newline;
      const column = columns.get(line);
      if (column !== undefined) {
        const content = text.slice(from, end).replace(/\r$/, '');
        found.push({ path, line, text: excerpt(content, characterAt(content, column)).text });
        columns.delete(line);
      }
      if (newline >= 0) line += 1;
      from = end + 1;
    }
    return columns.size > 0;
  };
  try {
    await readText(file, (text) => Promise.resolve(take(text)), signal);
  } finally {
    await file.handle.close();
  }
  return found;
}

/** The position in `line` of the byte `column`, from 1, of its UTF-8 form. */
function characterAt(line: string, column: number): number {
  return Buffer.from(line, 'utf8')
    .subarray(0, column - 1)
    .toString('utf8').length;
}
