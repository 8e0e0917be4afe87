/** Runs functions together, once what is under way has been done: what is written in one go costs one write. */
export interface Batch {
  add(run: () => void): void;
}

/** Default: at the end of this turn of the event loop. */
export function createBatch(soon: (run: () => void) => void = (run) => void setImmediate(run)): Batch {
  let waiting: (() => void)[] = [];
  const runAll = (): void => {
    const due = waiting;
    waiting = [];
    for (const run of due) run();
  };
  return {
    add(run) {
      if (waiting.length === 0) soon(runAll);
      waiting.push(run);
    },
  };
}
