/** Does at most `size` works at a time; the others wait in line. */
export function createTurns(size: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let free = size;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((next) => void waiting.push(next));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
