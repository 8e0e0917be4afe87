// The server of the `serve` metric, in a process of its own: `node server.js JOB`. It says on its channel where it listens,
// and then answers commands.

import { answer, type ServerJob, type Usage } from './job.ts';
import { hono } from './hono.ts';
import { treadle } from './treadle.ts';

const job = JSON.parse(process.argv[2] ?? '') as ServerJob;
const contestant = await (job.server === 'treadle' || job.server === 'treadle-unwatched' ? treadle(job) : hono(job));

/** After a collection: what is left is what is needed. */
async function usage(): Promise<Usage> {
  const { user, system } = process.cpuUsage();
  const { gc } = globalThis;
  for (let time = 0; gc && job.shape === 'idle' && time < 4; time += 1) {
    await gc();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpuMs: (user + system) / 1000, rssKB: rss / 1024, heapKB: (heapUsed + external) / 1024 };
}

answer(async (command) => {
  if (command.type === 'begin') return contestant.begin();
  if (command.type === 'go') return contestant.go();
  if (command.type === 'ended') return contestant.ended();
  if (command.type === 'usage') return usage();
  throw new Error(`A server knows no "${command.type}".`);
});
process.send?.({ value: contestant.ready });
