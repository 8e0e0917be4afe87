// Measures how long a process takes from its start until an agent is ready. It loads nothing but the contestant.

import { CONTESTANTS } from './contestants/index.ts';
import type { Job } from './job.ts';
import { benchTools } from './tools.ts';

const { contestant, wire, baseUrl } = JSON.parse(process.argv[2] ?? '') as Job;
const { define } = await CONTESTANTS[contestant](wire);
const agent = define({ baseUrl, scenario: 'turns-1', tools: benchTools(), onText() {}, onArguments() {} });
const conversation = await agent.open();
const readyMs = performance.now();
const { user, system } = process.cpuUsage();
if (!conversation) throw new Error('There is no conversation.');
process.stdout.write(JSON.stringify({ readyMs, cpuMs: (user + system) / 1000 }));
