import type { Clock } from '@treadle/core';
import type { Root } from './root/root.ts';

/** What every built-in tool takes. */
export interface CommonToolOptions {
  /** The folder the tool is confined to: its path, or a root opened by `openRoot`, which tools may share. */
  readonly root: string | Root;
  /** Files with several hard links may lie outside the root too; `refuse` is the default. Ignored with an open root. */
  readonly hardLinks?: 'refuse' | 'allow';
  /** More folders that the file tools may work in: absolute paths. Default: none. Ignored with an open root. */
  readonly directories?: readonly string[];
  /** For time limits; the system's clock when absent. */
  readonly clock?: Clock;
}

/** Names of folders that list_files and search pass over when nothing else is given. */
export const defaultSkippedFolders: readonly string[] = ['.git', '.treadle', 'node_modules', 'target', 'dist'];

export const KB = 1024;
export const MB = 1024 * KB;
