import { defineTool, systemClock, type Tool } from '@treadle/core';
import { findExecutable } from './bash/find-executable.ts';
import { defaultSkippedFolders, type CommonToolOptions } from './options.ts';
import { orIn, pathAccess } from './root/access.ts';
import { asRoot } from './root/root.ts';
import { search, type SearchSettings } from './search/search.ts';

/** Settings of {@link searchTool}. */
export interface SearchToolOptions extends CommonToolOptions {
  /** Names of folders passed over. Default {@link defaultSkippedFolders}. */
  readonly skipFolders?: readonly string[];
  /** Matching lines, when the call doesn't say. Default 50. */
  readonly limit?: number;
  /** Milliseconds after which the search ends with what it has. Default 30 s. */
  readonly timeLimitMs?: number;
  /**
   * Finds ripgrep: its absolute path, or undefined to search without it. Asked once. Default: `rg` on `PATH`, unless it
   * lies inside the root.
   */
  readonly findRipgrep?: () => Promise<string | undefined>;
}

/**
 * The tool `search`: lines of text files that match a regular expression. Uses ripgrep when there is one, and a search
 * of its own otherwise or when ripgrep does not know the pattern's syntax. Result `details`:
 * `{ matches: [{ path, line, text }], truncated, engine }`, with `engine` `ripgrep` or `built-in`.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 */
export function searchTool(options: SearchToolOptions): Tool {
  const root = asRoot(options.root, options);
  const skipped = options.skipFolders ?? defaultSkippedFolders;
  const find = options.findRipgrep ?? (() => findExecutable('rg', process.env['PATH'], root.path));
  let ripgrep: Promise<string | undefined> | undefined;
  const settings: SearchSettings = {
    root,
    limit: options.limit ?? 50,
    timeLimitMs: options.timeLimitMs ?? 30_000,
    skip: new Set(skipped),
    clock: options.clock ?? systemClock,
    findRipgrep: () => (ripgrep ??= find()),
  };
  return defineTool({
    name: 'search',
    label: 'Search in files',
    description:
      'Finds lines of text files that match a regular expression; ignores case unless case_sensitive. ' +
      `Returns path:line: text. Passes over binary files and ${skipped.join(', ')}.`,
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'Regular expression, compared with each line.' },
        path: {
          type: 'string',
          description: `Folder or file to search${orIn(root)}. Default: the root folder.`,
        },
        glob: { type: 'string', description: 'Only files whose path matches, such as *.ts or src/**/*.md.' },
        case_sensitive: { type: 'boolean', description: 'Default false.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          description: `Most lines to return. Default ${settings.limit}.`,
        },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    replay: 'safe',
    readOnly: true,
    access: ({ path = '.' }) => pathAccess(root, path, { recursive: true }),
    execute: (args, context) => search(args, context, { ...settings, root: root.of(args.path ?? '.') }),
  });
}
