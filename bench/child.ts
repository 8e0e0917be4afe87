// One measurement of one contestant in a process of its own. Prints its figures, or fails with what was wrong.

import { CONTESTANTS } from './contestants/index.ts';
import type { Job } from './job.ts';
import { MEASURES } from './measures.ts';

const job = JSON.parse(process.argv[2] ?? '') as Job;
if (job.measure === 'ready') throw new Error('ready.ts measures this.');
const contestant = await CONTESTANTS[job.contestant](job.wire);
const sample = await MEASURES[job.measure](contestant, job);
process.stdout.write(JSON.stringify(sample), () => process.exit(0));
