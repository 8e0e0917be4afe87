/** A folder of a branch's own. */
export interface WorkingCopy {
  /** An absolute path. */
  readonly folder: string;
}

/**
 * The port for files: each branch works on a copy, and the winner's becomes the original. Implementations: `folderCopies` and
 * `worktreeCopies` of `@treadle/tools`.
 */
export interface WorkingCopies {
  /** A copy of the original as it is now. The same key again, in any process, gives the copy that is there. */
  open(key: string): Promise<WorkingCopy>;
  /**
   * Makes the original equal to the copy: what the copy doesn't have is gone afterwards. The copy stays. When it is cut off it is
   * done again, and comes to the same.
   */
  merge(key: string): Promise<void>;
  /** Removes the copy; does nothing when there is none. */
  remove(key: string): Promise<void>;
}
