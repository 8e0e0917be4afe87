// What is measured, each with its own warm-up. Every measurement checks that the contestant did the whole work.

import type { Contender, Contestant } from './contestants/contestant.ts';
import type { Job, MeasureName, Sample } from './job.ts';
import { FINAL_ANSWER, LONG_RUN, PIECE_LENGTH, UNREPEATED_PATH, WAIT_MS, type Scenario } from './scenarios.ts';
import { median } from './table.ts';
import { benchTools } from './tools.ts';

type Measure = (contestant: Contestant, job: Job) => Promise<Sample>;

/** What the contestant delivered since the last `reset`. */
interface Seen {
  textLength: number;
  argumentsLength: number;
  /** Deltas that came with a value parsed so far. */
  partials: number;
  calls: number;
  /** Characters of the last file that was written. */
  fileLength: number;
  /** CPU milliseconds of the process at the start of each call. */
  cpuAtCall: number[];
}

interface Bench {
  readonly seen: Seen;
  reset(): void;
  define(scenario: Scenario): Contender;
  /** A run of the scenario in a new conversation of the same agent. */
  run(scenario: Scenario): Promise<string>;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const nothing = (): Seen => ({
  textLength: 0,
  argumentsLength: 0,
  partials: 0,
  calls: 0,
  fileLength: 0,
  cpuAtCall: [],
});

function createBench({ define }: Contestant, { baseUrl }: Job, options = { cpuAtCalls: false }): Bench {
  const seen = nothing();
  const contenders = new Map<Scenario, Contender>();
  const tools = benchTools({
    started: () => {
      if (options.cpuAtCalls) seen.cpuAtCall.push(cpuMs());
    },
    ended: (args) => {
      seen.calls++;
      const { content } = args as { readonly content?: string };
      if (content !== undefined) seen.fileLength = content.length;
    },
  });
  const onText = (text: string): void => {
    seen.textLength += text.length;
  };
  const onArguments = (text: string, partial: unknown): void => {
    seen.argumentsLength += text.length;
    if (typeof partial === 'object' && partial !== null) seen.partials++;
  };
  const bench: Bench = {
    seen,
    reset: () => Object.assign(seen, nothing()),
    define(scenario) {
      let contender = contenders.get(scenario);
      if (!contender) contenders.set(scenario, (contender = define({ baseUrl, scenario, tools, onText, onArguments })));
      return contender;
    },
    async run(scenario) {
      const conversation = await bench.define(scenario).open();
      return conversation.run();
    },
  };
  return bench;
}

function check(isRight: boolean, what: string): void {
  if (!isRight) throw new Error(`Wrong result: ${what}`);
}

async function repeat<Value>(times: number, work: (index: number) => Promise<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for (let index = 0; index < times; index++) values.push(await work(index));
  return values;
}

/** Wall-clock and CPU milliseconds of some work. */
async function timed(work: () => Promise<unknown>): Promise<{ readonly wallMs: number; readonly cpuMs: number }> {
  const cpu = cpuMs();
  const start = performance.now();
  await work();
  return { wallMs: performance.now() - start, cpuMs: cpuMs() - cpu };
}

const turn: Measure = async (contestant, job) => {
  const calls = 50;
  const bench = createBench(contestant, job);
  const scenario: Scenario = `turns-${calls}`;
  // Long enough for the compiler to be done: its work is half of what a process does in its first seconds.
  await repeat(job.quick ? 4 : 20, () => bench.run(scenario));
  bench.reset();
  const runs = job.quick ? 3 : 10;
  const walls: number[] = [];
  const { cpuMs: cpu } = await timed(() =>
    repeat(runs, async () => {
      const { wallMs } = await timed(async () => check((await bench.run(scenario)) === FINAL_ANSWER, 'the answer'));
      walls.push(wallMs);
    }),
  );
  check(bench.seen.calls === runs * calls, `${bench.seen.calls} calls instead of ${runs * calls}`);
  return { wallMs: median(walls) / (calls + 1), cpuMs: cpu / runs / (calls + 1) };
};

const delta: Measure = async (contestant, job) => {
  const deltas = 20_000;
  const bench = createBench(contestant, job);
  const scenario: Scenario = `text-${deltas}`;
  await repeat(job.quick ? 2 : 4, () => bench.run(scenario));
  bench.reset();
  const runs = job.quick ? 1 : 8;
  const { wallMs, cpuMs: cpu } = await timed(() => repeat(runs, () => bench.run(scenario)));
  const expected = runs * deltas * PIECE_LENGTH;
  check(bench.seen.textLength === expected, `${bench.seen.textLength} characters instead of ${expected}`);
  return { wallUs: (wallMs * 1000) / runs / deltas, cpuUs: (cpu * 1000) / runs / deltas };
};

const argument: Measure = async (contestant, job) => {
  const bench = createBench(contestant, job);
  await repeat(3, () => bench.run('argument-20000'));
  const sized = async (length: number, times: number): Promise<{ wallMs: number; cpuMs: number }> => {
    const runs = await repeat(times, async () => {
      bench.reset();
      const took = await timed(() => bench.run(`argument-${length}`));
      const { seen } = bench;
      check(seen.calls === 1 && seen.fileLength === length, `a file of ${seen.fileLength} characters, not ${length}`);
      check(seen.argumentsLength > length, `deltas of ${seen.argumentsLength} characters`);
      if (job.contestant !== 'floor') check(seen.partials > length / PIECE_LENGTH, `${seen.partials} parsed values`);
      return took;
    });
    return { wallMs: median(runs.map(({ wallMs }) => wallMs)), cpuMs: median(runs.map((run) => run.cpuMs)) };
  };
  const small = await sized(200_000, job.quick ? 2 : 5);
  const large = await sized(1_000_000, job.quick ? 1 : 3);
  return {
    smallWallMs: small.wallMs,
    smallCpuMs: small.cpuMs,
    largeWallMs: large.wallMs,
    largeCpuMs: large.cpuMs,
    growth: large.cpuMs / small.cpuMs,
  };
};

const parallel: Measure = async (contestant, job) => {
  const calls = 64;
  const bench = createBench(contestant, job);
  const scenario: Scenario = `parallel-${calls}`;
  await repeat(20, () => bench.run(scenario));
  const walls = await repeat(job.quick ? 3 : 9, async () => {
    bench.reset();
    const { wallMs } = await timed(() => bench.run(scenario));
    check(bench.seen.calls === calls, `${bench.seen.calls} calls instead of ${calls}`);
    return wallMs;
  });
  check(Math.min(...walls) >= WAIT_MS - 1, 'the tools did not wait');
  return { wallMs: median(walls) };
};

/** Turns at either end of a long run that are compared. */
const ENDS = 20;

/** How much more CPU a turn at the end of a long run takes than one at its beginning. */
const longRun: Measure = async (contestant, job) => {
  const bench = createBench(contestant, job, { cpuAtCalls: true });
  // As long as what is measured, or else the compiler's work at its beginning hides what its end has gained.
  await repeat(job.quick ? 1 : 3, () => bench.run(`turns-${LONG_RUN}`));
  const runs = await repeat(job.quick ? 1 : 5, async () => {
    bench.reset();
    check((await bench.run(`turns-${LONG_RUN}`)) === FINAL_ANSWER, 'the answer');
    const { cpuAtCall } = bench.seen;
    check(cpuAtCall.length === LONG_RUN, `${cpuAtCall.length} calls instead of ${LONG_RUN}`);
    const turns = cpuAtCall.slice(1).map((cpu, index) => cpu - (cpuAtCall[index] ?? 0));
    return { early: median(turns.slice(0, ENDS)), late: median(turns.slice(-ENDS)) };
  });
  const gains = runs.map(({ early, late }) => late - early);
  return { gainMs: median(gains), lateMs: median(runs.map(({ late }) => late)) };
};

/** How far the requests of a long run begin with the one before: the server compares them. */
const prefix: Measure = async (contestant, job) => {
  const bench = createBench(contestant, job);
  check((await bench.run(`turns-${LONG_RUN}`)) === FINAL_ANSWER, 'the answer');
  const response = await fetch(`${job.baseUrl}${UNREPEATED_PATH}`);
  const { requests, bytes } = (await response.json()) as { readonly requests: number; readonly bytes: number };
  check(requests === LONG_RUN, `${requests} requests that follow another, not ${LONG_RUN}`);
  return { unrepeated: bytes };
};

const concurrent: Measure = async (contestant, job) => {
  const runs = job.quick ? 200 : 1000;
  // Five turns: the last one only answers.
  const calls = 4;
  const bench = createBench(contestant, job);
  const scenario: Scenario = `turns-${calls}`;
  await repeat(20, () => bench.run(scenario));
  bench.reset();
  const { wallMs, cpuMs: cpu } = await timed(() =>
    Promise.all(
      Array.from({ length: runs }, async () => check((await bench.run(scenario)) === FINAL_ANSWER, 'the answer')),
    ),
  );
  check(bench.seen.calls === runs * calls, `${bench.seen.calls} calls instead of ${runs * calls}`);
  return { wallMs, cpuMs: cpu, peakMB: process.resourceUsage().maxRSS / 1024 };
};

export const MEASURES: Readonly<Record<MeasureName, Measure>> = {
  turn,
  delta,
  argument,
  parallel,
  longRun,
  prefix,
  concurrent,
};
