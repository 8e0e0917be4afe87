// The rows of the table: what is measured, for whom, and what it should come to.

import type { WireName } from './contestants/contestant.ts';
import type { ContestantName } from './contestants/index.ts';
import type { Job, Sample } from './job.ts';

/** One figure of a measurement. */
export interface Figure {
  readonly label: string;
  readonly unit: string;
  readonly of: (sample: Sample) => number | undefined;
  /** What it may be at most: as a ratio to the floor, or itself when `absolute`. */
  readonly goal?: { readonly now?: number; readonly design?: number };
  /** The figure is a ratio by itself and isn't compared with the floor. */
  readonly absolute?: boolean;
}

export interface Metric {
  readonly id: string;
  readonly measure: Job['measure'];
  readonly wires: readonly WireName[];
  readonly contestants: readonly ContestantName[];
  readonly rounds: number;
  readonly figures: readonly Figure[];
}

const BOTH: readonly WireName[] = ['openai-chat', 'anthropic'];
const ONE: readonly WireName[] = ['openai-chat'];
const PAIR: readonly ContestantName[] = ['floor', 'treadle'];

const figure = (label: string, unit: string, name: string, goal?: Figure['goal']): Figure => ({
  label,
  unit,
  of: (sample) => sample[name],
  ...(goal && { goal }),
});

export const METRICS: readonly Metric[] = [
  {
    id: 'turn',
    measure: 'turn',
    wires: BOTH,
    contestants: [...PAIR, 'treadle-sqlite'],
    rounds: 7,
    figures: [
      figure('CPU per turn with a tool call', 'ms', 'cpuMs', { now: 1, design: 0.7 }),
      figure('wall per turn with a tool call', 'ms', 'wallMs'),
    ],
  },
  {
    id: 'delta',
    measure: 'delta',
    wires: BOTH,
    contestants: PAIR,
    rounds: 7,
    figures: [
      figure('CPU per streamed text delta', 'µs', 'cpuUs', { now: 2, design: 1.5 }),
      figure('wall per streamed text delta', 'µs', 'wallUs'),
    ],
  },
  {
    id: 'argument',
    measure: 'argument',
    wires: BOTH,
    contestants: PAIR,
    rounds: 5,
    figures: [
      figure('CPU of a 200 kB argument, parsed value read on every delta', 'ms', 'smallCpuMs'),
      figure('CPU of a 1 MB argument, parsed value read on every delta', 'ms', 'largeCpuMs', { now: 3, design: 2 }),
      figure('wall of a 1 MB argument', 'ms', 'largeWallMs', { now: 3, design: 2 }),
      { ...figure('1 MB over 200 kB, linear is 5', '×', 'growth', { now: 7, design: 7 }), absolute: true },
    ],
  },
  {
    id: 'ready',
    measure: 'ready',
    wires: BOTH,
    contestants: PAIR,
    rounds: 15,
    figures: [
      figure('process start to an agent ready', 'ms', 'readyMs', { now: 2.5, design: 2 }),
      figure('CPU until then', 'ms', 'cpuMs'),
    ],
  },
  {
    id: 'parallel',
    measure: 'parallel',
    wires: ONE,
    contestants: PAIR,
    rounds: 5,
    figures: [figure('64 parallel tools of 20 ms, wall', 'ms', 'wallMs', { now: 1.15, design: 1.1 })],
  },
  {
    id: 'long',
    measure: 'longRun',
    wires: ONE,
    contestants: PAIR,
    rounds: 5,
    figures: [
      figure('CPU a turn has gained by turn 400', 'ms', 'gainMs', { design: 0.4 }),
      figure('CPU of a turn around turn 375', 'ms', 'lateMs'),
    ],
  },
  {
    id: 'concurrent',
    measure: 'concurrent',
    wires: ONE,
    contestants: PAIR,
    rounds: 5,
    figures: [
      figure('1,000 concurrent runs, wall', 'ms', 'wallMs', { design: 0.7 }),
      figure('1,000 concurrent runs, CPU', 'ms', 'cpuMs', { design: 0.7 }),
      figure('1,000 concurrent runs, peak memory', 'MB', 'peakMB', { design: 1 }),
    ],
  },
  {
    id: 'idle',
    measure: 'idle',
    wires: ONE,
    contestants: PAIR,
    rounds: 3,
    figures: [figure('heap per idle session with 100 messages', 'kB', 'heapKB', { design: 1.1 })],
  },
];
