// Plays the cases of `npm run fuzz`, and tells its parent of each before it begins.
import process from 'node:process';
import fc from 'fast-check';
import { TARGETS } from './targets.ts';

export type Told =
  | { readonly tells: 'case'; readonly target: string; readonly seed: number; readonly text: string }
  | { readonly tells: 'end'; readonly failed: boolean; readonly text: string };

interface Task {
  readonly seconds: number;
  readonly seed: number;
  readonly names: readonly string[];
}

const tell = (told: Told): Promise<void> => new Promise((resolve) => process.send?.(told, () => resolve()));

async function playAll({ seconds, seed: first, names }: Task): Promise<Told> {
  const until = performance.now() + seconds * 1000;
  const played = new Map<string, number>();
  let seed = first;
  for (; performance.now() < until; seed += 1) {
    for (const name of names) {
      const target = TARGETS[name];
      if (!target || performance.now() >= until) continue;
      const property = target.property((given) =>
        tell({ tells: 'case', target: name, seed, text: fc.stringify(given) }),
      );
      const details = await fc.check(property, { seed, numRuns: target.runs });
      played.set(name, (played.get(name) ?? 0) + details.numRuns);
      if (!details.failed) continue;
      const { errorInstance: error } = details;
      const why = error instanceof Error ? error.stack : String(error);
      const again = `FAILED ${name}. Again: npm run fuzz -- --only ${name} --seed ${seed}`;
      return { tells: 'end', failed: true, text: `${fc.defaultReportMessage(details)}\n\n${why}\n\n${again}` };
    }
  }
  const counts = [...played].map(([name, count]) => `${name} ${count}`);
  return { tells: 'end', failed: false, text: `ok, seeds ${first} to ${seed - 1}: ${counts.join(', ')}` };
}

await tell(await playAll(JSON.parse(process.argv[2] ?? '') as Task));
// Timers of runs that were given up must not keep it.
process.exit(0);
