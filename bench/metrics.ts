// The rows of the table: what is measured, for whom, and what it should come to.

import type { WireName } from './contestants/contestant.ts';
import type { ContestantName } from './contestants/index.ts';
import type { Job, Sample } from './job.ts';

/** What a figure may be at most: as a ratio to the floor, or itself when `absolute`. */
interface Limit {
  readonly now?: number;
  readonly design?: number;
}

/** One figure of a measurement. */
export interface Figure {
  readonly label: string;
  readonly unit: string;
  readonly of: (sample: Sample) => number | undefined;
  readonly limit: Limit;
  /** The figure says something by itself and isn't compared with the floor. */
  readonly absolute: boolean;
}

export interface Metric {
  readonly id: string;
  readonly measure: Job['measure'];
  readonly wires: readonly WireName[];
  readonly contestants: readonly ContestantName[];
  readonly rounds: number;
  readonly figures: readonly Figure[];
}

const ONE: readonly WireName[] = ['openai-chat'];
const BOTH: readonly WireName[] = [...ONE, 'anthropic'];
/** Vertex is Gemini's wire, and Azure OpenAI speaks Responses. */
const REST: readonly WireName[] = ['anthropic', 'openai-responses', 'gemini', 'bedrock', 'ollama'];
const EVERY: readonly WireName[] = [...ONE, ...REST];

const PAIR: readonly ContestantName[] = ['floor', 'treadle'];
const WITH_CHECK: readonly ContestantName[] = [...PAIR, 'floor-again'];

const ratio = (label: string, unit: string, name: string, limit: Limit = {}): Figure => ({
  label,
  unit,
  of: (sample) => sample[name],
  limit,
  absolute: false,
});

const absolute = (label: string, unit: string, name: string, limit: Limit = {}): Figure => ({
  ...ratio(label, unit, name, limit),
  absolute: true,
});

const metric = (
  id: string,
  measure: Job['measure'],
  wires: readonly WireName[],
  contestants: readonly ContestantName[],
  rounds: number,
  ...figures: readonly Figure[]
): Metric => ({ id, measure, wires, contestants, rounds, figures });

const TURN = [
  ratio('CPU per turn with a tool call', 'ms', 'cpuMs', { now: 0.85, design: 0.7 }),
  ratio('wall per turn with a tool call', 'ms', 'wallMs'),
];

export const METRICS: readonly Metric[] = [
  metric('turn', 'turn', ONE, [...WITH_CHECK, 'treadle-sqlite'], 9, ...TURN),
  metric('turn', 'turn', REST, WITH_CHECK, 9, ...TURN),
  metric(
    'delta',
    'delta',
    EVERY,
    WITH_CHECK,
    9,
    ratio('CPU per streamed text delta', 'µs', 'cpuUs', { now: 1.5, design: 1 }),
    ratio('wall per streamed text delta', 'µs', 'wallUs'),
  ),
  metric(
    'argument',
    'argument',
    BOTH,
    PAIR,
    5,
    ratio('CPU of a 200 kB argument, parsed value read on every delta', 'ms', 'smallCpuMs'),
    ratio('CPU of a 1 MB argument, parsed value read on every delta', 'ms', 'largeCpuMs', { now: 3, design: 2 }),
    ratio('wall of a 1 MB argument', 'ms', 'largeWallMs', { now: 3, design: 2 }),
    absolute('1 MB over 200 kB, linear is 5', '×', 'growth', { now: 7, design: 7 }),
  ),
  metric(
    'ready',
    'ready',
    BOTH,
    PAIR,
    15,
    ratio('process start to an agent ready', 'ms', 'readyMs', { now: 2.5, design: 2 }),
    ratio('CPU until then', 'ms', 'cpuMs'),
  ),
  metric(
    'parallel',
    'parallel',
    ONE,
    PAIR,
    5,
    ratio('64 parallel tools of 20 ms, wall', 'ms', 'wallMs', { now: 1.15, design: 1.1 }),
  ),
  metric(
    'long',
    'longRun',
    ONE,
    WITH_CHECK,
    5,
    ratio('CPU a turn has gained by turn 400', 'ms', 'gainMs', { now: 0.4, design: 0.4 }),
    ratio('CPU of one of the last 20 turns of 400', 'ms', 'lateMs'),
  ),
  metric(
    'long',
    'prefix',
    EVERY,
    PAIR,
    1,
    absolute('bytes of a request that the next does not repeat, at most, in 400 turns', 'B', 'unrepeated'),
  ),
  metric(
    'concurrent',
    'concurrent',
    ONE,
    WITH_CHECK,
    5,
    ratio('1,000 concurrent runs, wall', 'ms', 'wallMs'),
    ratio('1,000 concurrent runs, CPU', 'ms', 'cpuMs', { now: 0.8, design: 0.6 }),
    ratio('1,000 concurrent runs, peak memory', 'MB', 'peakMB', { now: 1, design: 0.6 }),
  ),
];
