import type { Location } from '../root/locate.ts';

export interface SearchQuery {
  readonly pattern: string;
  readonly caseSensitive: boolean;
  readonly limit: number;
  /** As the model gave it. */
  readonly glob: string | undefined;
  /** Names of directories that are not searched. */
  readonly skip: ReadonlySet<string>;
}

/** Where to search: a folder, or one file. */
export interface Scope {
  readonly location: Location;
  /** Relative to the root; `.` for the root. */
  readonly folder: string;
  /** Set when the scope is one file. */
  readonly file: { readonly name: string; readonly path: string } | undefined;
  /** The path relative to the root of a path relative to the folder. */
  pathOf(path: string): string;
  /** Does the glob admit the file at this path, relative to the folder? */
  includes(path: string): boolean;
}

export interface FoundLine {
  /** Relative to the root. */
  readonly path: string;
  readonly line: number;
  /** The line, or the part of a long one around the match. */
  readonly text: string;
}

export interface Found {
  readonly matches: readonly FoundLine[];
  /** There are more than these. */
  readonly more: boolean;
  readonly engine: 'ripgrep' | 'built-in';
  /** Files not searched. */
  readonly hardLinks: number;
  readonly unreadable: number;
}
