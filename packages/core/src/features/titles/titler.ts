/** Has a session named, beside its runs. */
export interface Titler {
  /** Told of each run that has completed: after the first one of a session without a title a model is asked for it. */
  afterRun(): void;
  /** Resolves when nobody is at work on a title. */
  settled(): Promise<void>;
  /** Ends the asking: the session gets the title that is made of its prompt. */
  stop(): Promise<void>;
}
