// npm run bench -- [--metrics turn,delta] [--rounds N] [--quick]
//
// Builds the packages and measures the build. Per metric: rounds in which every contestant runs once, each in a fresh
// process and in rotated order; a ratio is taken within a round, and the median over the rounds is shown. Timing never
// fails it; a wrong result does.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import type { WireName } from './contestants/contestant.ts';
import type { ContestantName } from './contestants/index.ts';
import { installSize } from './install-size.ts';
import type { Job, Sample } from './job.ts';
import { appendTable, openTable } from './journals/report.ts';
import { METRICS, type Figure, type Metric } from './metrics.ts';
import { serveTables } from './serve/report.ts';
import { median, short, table } from './table.ts';

const HEAD = ['what', 'wire', 'floor', 'Treadle', '× floor', 'range', 'floor × floor', 'limit', 'goal'];
const INSTALL = 'install';
const APPEND = 'append';
const OPEN = 'open';
const SERVE = 'serve';
const TIMEOUT_MS = 180_000;

const root = dirname(import.meta.dirname);
const run = promisify(execFile);

/** Samples of one metric on one wire: a round each, with what every contestant came to. */
type Round = ReadonlyMap<ContestantName, Sample>;

interface Server {
  readonly baseUrl: string;
  stop(): void;
}

/** Programs of the benchmark, as they were built. */
const program = (name: string): string => join(import.meta.dirname, 'dist', `${name}.js`);

async function startServer(): Promise<Server> {
  const server = spawn(process.execPath, [program('server')], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  if (!server.stdout) throw new Error('The server has no output.');
  const [port] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  return { baseUrl: `http://127.0.0.1:${port}`, stop: () => server.kill() };
}

/** One sample from a process of its own. Rejects when the scenario came to a wrong result. */
async function sample(job: Job): Promise<Sample> {
  const file = job.measure === 'ready' ? program('ready') : program('child');
  // What this process was started with, a proxy or a loader, must not slow a contestant down.
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env;
  const env = { PATH, HOME, ...(TMPDIR === '' ? {} : { TMPDIR }) };
  const options = { cwd: import.meta.dirname, env, timeout: TIMEOUT_MS };
  const { stdout } = await run(process.execPath, [file, JSON.stringify(job)], options);
  return JSON.parse(stdout) as Sample;
}

async function measure(metric: Metric, wire: WireName, options: Options, baseUrl: string): Promise<Round[]> {
  const { contestants } = metric;
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds(metric); round++) {
    const samples = new Map<ContestantName, Sample>();
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(turn + round) % contestants.length];
      if (contestant === undefined) continue;
      samples.set(
        contestant,
        await sample({ contestant, wire, measure: metric.measure, baseUrl, quick: options.quick }),
      );
    }
    rounds.push(samples);
  }
  return rounds;
}

/** Contestants with a row of their own, and what their rows add to the label. */
const SHOWN: ReadonlyMap<ContestantName, string> = new Map([
  ['treadle', ''],
  ['treadle-sqlite', ', SQLite journal'],
]);

function rowOf(figure: Figure, wire: WireName, contestant: ContestantName, rounds: readonly Round[]): string[] {
  const valuesOf = (name: ContestantName): number[] =>
    rounds.map((samples) => {
      const found = samples.get(name);
      return (found && figure.of(found)) ?? Number.NaN;
    });
  const floors = valuesOf('floor');
  const toFloor = (values: readonly number[]): number[] =>
    values.map((value, round) => value / (floors[round] ?? Number.NaN));
  const values = valuesOf(contestant);
  const compared = figure.absolute ? values : toFloor(values);
  const check = median(toFloor(valuesOf('floor-again')));
  const isMain = contestant === 'treadle';
  const atMost = (limit: number | undefined): string => (isMain && limit !== undefined ? `≤ ${limit}` : '');
  return [
    figure.label + (SHOWN.get(contestant) ?? ''),
    wire,
    `${short(median(floors))} ${figure.unit}`,
    `${short(median(values))} ${figure.unit}`,
    figure.absolute ? '' : short(median(compared)),
    `${short(Math.min(...compared))} – ${short(Math.max(...compared))}`,
    isMain && Number.isFinite(check) ? short(check) : '',
    atMost(figure.limit.now),
    atMost(figure.limit.design),
  ];
}

interface Options {
  readonly metrics: ReadonlySet<string>;
  readonly quick: boolean;
  /** As they were asked for; each metric has a number of its own. */
  readonly asked: number | undefined;
  rounds(metric: Metric): number;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: { metrics: { type: 'string' }, rounds: { type: 'string' }, quick: { type: 'boolean', default: false } },
  });
  const known = [...new Set(METRICS.map(({ id }) => id)), INSTALL, APPEND, OPEN, SERVE];
  const chosen = values.metrics?.split(',') ?? known;
  const unknown = chosen.filter((id) => !known.includes(id));
  if (unknown.length > 0)
    throw new Error(`No metric is called ${unknown.join(' or ')}. There are: ${known.join(', ')}.`);
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))
    throw new Error('--rounds takes a number from 1 on.');
  const { quick } = values;
  return { metrics: new Set(chosen), quick, asked: rounds, rounds: (metric) => rounds ?? (quick ? 2 : metric.rounds) };
}

/** Builds what is measured, as it would be published, and the programs that measure it. */
async function build(): Promise<void> {
  const tsc = join(dirname(fileURLToPath(import.meta.resolve('typescript/package.json'))), 'bin', 'tsc');
  try {
    await run('npm', ['run', '--silent', 'build'], { cwd: root });
    await run(process.execPath, [tsc, '-b', 'bench'], { cwd: root });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`The build failed, so there is nothing to measure.\n${stdout}${stderr}`, { cause: error });
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  await build();
  console.log(`Node ${process.version}, ${availableParallelism()} cores, ${new Date().toISOString().slice(0, 10)}\n`);
  const rows: string[][] = [];
  const server = await startServer();
  try {
    for (const metric of METRICS.filter(({ id }) => options.metrics.has(id))) {
      for (const wire of metric.wires) {
        process.stderr.write(`${metric.id} (${wire})\n`);
        const rounds = await measure(metric, wire, options, server.baseUrl);
        for (const contestant of metric.contestants) {
          if (!SHOWN.has(contestant)) continue;
          rows.push(...metric.figures.map((figure) => rowOf(figure, wire, contestant, rounds)));
        }
      }
    }
  } finally {
    server.stop();
  }
  if (options.metrics.has(INSTALL)) {
    const { bytes, packages } = await installSize(root, ['@treadle/core', '@treadle/models']);
    const size = `${short(bytes / 1e6)} MB / ${packages}`;
    rows.push(['install of core and models, MB / packages', '', '', size, '', '', '', '', '≤ 1 / 3']);
  }
  if (rows.length > 0) console.log(table(HEAD, rows));
  if (options.metrics.has(APPEND)) console.log(`\n${await appendTable(program('journals/append'), options.quick)}`);
  if (options.metrics.has(SERVE)) {
    const programs = { server: program('serve/server'), client: program('serve/client') };
    console.log(`\n${await serveTables(programs, options.quick, options.asked)}`);
  }
  if (options.metrics.has(OPEN)) console.log(`\n${await openTable(program('journals/open'), options.quick)}`);
}

await main();
