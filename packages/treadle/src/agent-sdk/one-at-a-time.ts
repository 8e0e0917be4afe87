/** Runs changes one after the other, each when the one before it has come to an end. */
export function oneAtATime(): <Value>(change: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const done = last.then(change);
    last = done.catch(() => {});
    return done;
  };
}
