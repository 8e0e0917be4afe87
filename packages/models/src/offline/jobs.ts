import type { Selection } from './language/selection.ts';

/** Files a request points at: by path, by what they are, or by what was found before. */
export type Target =
  | { readonly by: 'path'; readonly path: string }
  | { readonly by: 'paths'; readonly paths: readonly string[] }
  | { readonly by: 'selection'; readonly selection: Selection }
  | { readonly by: 'reference'; readonly reference: Reference };

/** `it`, `them`, `the second one`, `the largest one`. */
export type Reference =
  | { readonly kind: 'it' }
  | { readonly kind: 'all' }
  | { readonly kind: 'nth'; readonly index: number }
  | { readonly kind: 'largest' }
  | { readonly kind: 'smallest' };

export type Counted = 'lines' | 'words' | 'characters' | 'bytes' | 'rows' | 'columns';
export type Statistic = 'sum' | 'average' | 'median' | 'min' | 'max' | 'count' | 'distinct';

/** What is wanted of a file's content; nothing in particular is a summary. */
export interface Wanted {
  readonly counts: readonly Counted[];
  readonly statistics: readonly Statistic[];
  /** The column as the user called it. */
  readonly column?: string;
  /** The column to group by. */
  readonly by?: string;
  /** The text itself. */
  readonly content?: boolean;
  /** Only these lines of it: from 1, both included; counted from the end with `last`. */
  readonly range?: { readonly from: number; readonly to: number } | { readonly last: number };
}

export interface DescribeJob {
  readonly kind: 'describe';
  readonly folder: string;
}

export interface ListJob {
  readonly kind: 'list';
  readonly selection: Selection;
  /** Say the sizes, in the answer or in the file that is written. */
  readonly sizes: boolean;
  /** Only the number is asked for. */
  readonly countOnly: boolean;
  /** Looked for as a text when no file is found. */
  readonly orText?: string;
}

/** Several lists asked for in one phrase: `the two largest and the two smallest files in src`. */
export interface ListsJob {
  readonly kind: 'lists';
  readonly lists: readonly ListJob[];
}

export interface SearchJob {
  readonly kind: 'search';
  readonly text: string;
  readonly folder: string;
  /** A file or name pattern to stay within. */
  readonly glob?: string;
  readonly caseSensitive: boolean;
  readonly want: 'lines' | 'files' | 'definition' | 'count';
}

export interface FiguresJob {
  readonly kind: 'figures';
  readonly target: Target;
  readonly wanted: Wanted;
  /** Only reading was asked for, perhaps for the sake of what comes next. */
  readonly onlyRead?: true;
}

export interface RunJob {
  readonly kind: 'run';
  readonly command: string;
}

/** A job that finds something out. */
export type DataJob = DescribeJob | ListJob | ListsJob | SearchJob | FiguresJob | RunJob;

export type Content =
  | { readonly from: 'text'; readonly text: string }
  | { readonly from: 'job'; readonly job: DataJob }
  | { readonly from: 'earlier' }
  | { readonly from: 'nothing' };

export interface CreateJob {
  readonly kind: 'create';
  readonly path: string;
  readonly content: Content;
  /** A whole page was asked for, not just a file with this text. */
  readonly page?: true;
  /** Title of a page. */
  readonly title?: string;
  /** The text was given without quotes, so what follows may belong to it. */
  readonly open: boolean;
}

export interface EditJob {
  readonly kind: 'edit';
  /** One file, or a folder whose files are searched. */
  readonly target: Target | { readonly by: 'folder'; readonly folder: string };
  readonly change: Change;
}

export type Change =
  | {
      readonly kind: 'replace';
      readonly from: string;
      readonly to: string;
      readonly wholeWord: boolean;
      readonly first: boolean;
    }
  | { readonly kind: 'title'; readonly to: string }
  | { readonly kind: 'field'; readonly name: string; readonly to: string }
  | { readonly kind: 'append'; readonly text: string };

/** A clause that isn't one of these requests. It is answered honestly and nothing is done for it. */
export interface UnclearJob {
  readonly kind: 'unclear';
  readonly text: string;
}

export type Job = DataJob | CreateJob | EditJob | UnclearJob;

/** What has to be known of the request so far to read the next clause. */
export interface Reading {
  /** The folder the last job was about. */
  readonly folder: string | undefined;
  /** An earlier job found something, so that `them` means something. */
  readonly earlier: boolean;
}

/** A job that changes something, or may. */
export function changes(job: Job): boolean {
  return job.kind === 'create' || job.kind === 'edit' || job.kind === 'run';
}
