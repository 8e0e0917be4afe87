/** Of something that belongs to a run. */
export interface InRun {
  readonly runId: string;
}

/** Of something that belongs to a turn of a run. */
export interface InTurn extends InRun {
  /** From 0 in each run. */
  readonly turnIndex: number;
}
