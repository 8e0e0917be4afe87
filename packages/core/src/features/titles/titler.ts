/** Has a session named, beside its runs. */
export interface Titler {
  /** Told of each run that has ended: after the first answer in a session without a title a model is asked for it. */
  ask(): void;
  /** Whether a title is being asked for, or is to be: the session has had its first answer, and nobody has named it. */
  readonly isOwed: boolean;
  /** Resolves when nobody is at work on a title. */
  settled(): Promise<void>;
  /** Ends the asking: the session gets the title that is made of its prompt. */
  stop(): Promise<void>;
}
