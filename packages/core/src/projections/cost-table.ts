import type { ConfigSnapshot, DurableEvent, RunStatus } from '../events/events.ts';
import { cacheHitRate } from '../model/usage.ts';
import { addSpending, NOTHING_SPENT, spendingOf, type Spending } from './spending.ts';

/** What some model calls have used and cost. */
export interface CostSum extends Spending {
  /** Calls of a model: replies, attempts that failed, calls that were cut off, summaries; what asking for a title took counts as one. */
  readonly calls: number;
  /** US dollars: the sum of the parts that are known. The same as `cost` where all are. */
  readonly costAtLeast: number;
  /** The share of all prompts that came out of the provider's cache, from 0 to 1; null when any prompt wasn't counted. */
  readonly cacheHitRate: number | null;
}

/** What one model has used. Both names are null where the log doesn't say which model it was. */
export interface ModelCost extends CostSum {
  readonly provider: string | null;
  readonly model: string | null;
}

/** What one run has used. `runId` is null for compactions while no run was open, and for the title; `status` is null before the end. */
export interface RunCost extends CostSum {
  readonly runId: string | null;
  readonly startedAt: number;
  readonly status: RunStatus | null;
}

/** What a session has used: by model, by run, and altogether. Each sums up the same calls. */
export interface CostTable {
  /** In the order of their first calls. */
  readonly models: readonly ModelCost[];
  /** In the order in which they began. */
  readonly runs: readonly RunCost[];
  readonly total: CostSum;
}

/** Options of {@link costTable}. */
export interface CostTableOptions {
  /** Count also what a fork shares with its parent, which has paid for it. Default false. */
  readonly inherited?: boolean;
}

/** Folds events into a table of costs. */
export interface CostTableFold {
  take(event: DurableEvent): void;
  /** As it is now; what comes later doesn't change it. */
  table(): CostTable;
}

/**
 * What a session has cost. What nobody knows is null, never 0: a cost is null when any part of it is unknown.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { costTable } from '@treadle/core/projections';
 * import { logOf, scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const model = scriptedModel([{ text: 'Hello.', usage: { input: 10, output: 2 } }], { cost: () => 0.25 });
 * const session = await createSession(defineAgent({ model }), { journal });
 * await session.prompt('Hi').result;
 *
 * const { models, total } = costTable(await logOf(journal, session.id));
 * console.log(models.map((row) => row.calls), total.usage.input, total.cost); // [ 1 ] 10 0.25
 * ```
 */
export function costTable(events: Iterable<DurableEvent>, options: CostTableOptions = {}): CostTable {
  const fold = costTableFold(options);
  for (const event of events) fold.take(event);
  return fold.table();
}

interface SumDraft {
  calls: number;
  spending: Spending;
  costAtLeast: number;
  allCounted: boolean;
}

interface RunDraft {
  readonly runId: string | null;
  readonly sum: SumDraft;
  startedAt: number;
  status: RunStatus | null;
  config: ConfigSnapshot | null;
  modelIndex: number;
  /** A reply has told what the attempt used that is about to fail. */
  isTold: boolean;
}

interface ModelName {
  readonly provider: string | null;
  readonly model: string | null;
}

const UNKNOWN_MODEL: ModelName = { provider: null, model: null };

/** Starts the fold of a session's costs. Feed it the session's log from the beginning. */
export function costTableFold(options: CostTableOptions = {}): CostTableFold {
  const models = new Map<string, { readonly name: ModelName; readonly sum: SumDraft }>();
  const runs = new Map<string | null, RunDraft>();
  let total = newSum();

  function runOf(runId: string | null, at: number): RunDraft {
    const known = runs.get(runId);
    if (known) return known;
    const draft = { runId, sum: newSum(), startedAt: at, status: null, config: null, modelIndex: 0, isTold: false };
    runs.set(runId, draft);
    return draft;
  }

  function sumOf(name: ModelName): SumDraft {
    const key = JSON.stringify([name.provider, name.model]);
    const known = models.get(key);
    if (known) return known.sum;
    const sum = newSum();
    models.set(key, { name, sum });
    return sum;
  }

  return {
    take(event) {
      if (event.type === 'session_created' && event.fork && options.inherited !== true) {
        models.clear();
        // An open run goes on here; what it was asked with still holds.
        for (const [runId, run] of runs) {
          if (run.status === null && run.config) runs.set(runId, { ...run, sum: newSum() });
          else runs.delete(runId);
        }
        total = newSum();
      }
      const runId = 'runId' in event ? event.runId : undefined;
      const spent = spendingOf(event);
      if (runId === undefined && spent === null) return;
      const run = runOf(runId ?? null, event.at);
      const calls = callsIn(event, run, spent);
      const name = modelOf(event, run);
      note(run, event);
      if (calls === 0 && spent === null) return;
      for (const sum of [run.sum, sumOf(name), total]) addTo(sum, calls, spent ?? NOTHING_SPENT);
    },
    table: () => ({
      models: [...models.values()].map(({ name, sum }) => ({ ...name, ...sumUp(sum) })),
      runs: [...runs.values()].map(({ runId, startedAt, status, sum }) => ({
        runId,
        startedAt,
        status,
        ...sumUp(sum),
      })),
      total: sumUp(total),
    }),
  };
}

const newSum = (): SumDraft => ({ calls: 0, spending: NOTHING_SPENT, costAtLeast: 0, allCounted: true });

function addTo(sum: SumDraft, calls: number, spent: Spending): void {
  sum.calls += calls;
  sum.spending = addSpending(sum.spending, spent);
  sum.costAtLeast += spent.cost ?? 0;
  if (spent !== NOTHING_SPENT && (spent.usage.input === null || spent.usage.cacheRead === null)) sum.allCounted = false;
}

const sumUp = ({ calls, spending, costAtLeast, allCounted }: SumDraft): CostSum => ({
  calls,
  ...spending,
  costAtLeast,
  cacheHitRate: allCounted ? cacheHitRate(spending.usage) : null,
});

/** How many calls of a model an event tells of. */
function callsIn(event: DurableEvent, run: RunDraft, spent: Spending | null): number {
  if (event.type === 'attempt_failed') return run.isTold ? 0 : 1;
  return spent === null ? 0 : 1;
}

function modelOf(event: DurableEvent, { config, modelIndex }: RunDraft): ModelName {
  if (event.type === 'message_added' && event.message.role === 'assistant') {
    const { provider, model } = event.message;
    return { provider, model };
  }
  if (event.type === 'input_received' && event.input.type === 'rename') {
    const { provider = null, model = null } = event.input;
    return { provider, model };
  }
  const isCall = event.type === 'attempt_failed' || event.type === 'message_discarded';
  // A run's configuration names its agent's models; a summary may be another's work.
  if (!isCall || config === null) return UNKNOWN_MODEL;
  if (modelIndex > 0) return config.models?.[modelIndex] ?? UNKNOWN_MODEL;
  return { provider: config.provider, model: config.model };
}

/** What later events of the run are read with. */
function note(run: RunDraft, event: DurableEvent): void {
  if (event.type === 'run_started') {
    run.startedAt = event.at;
    run.config = event.config;
  } else if (event.type === 'turn_started') run.modelIndex = event.modelIndex ?? 0;
  else if (event.type === 'run_ended') run.status = event.status;
  else if (event.type === 'message_added' && event.message.role === 'assistant') {
    run.isTold = event.message.stopReason === 'error';
  } else if (event.type === 'attempt_failed') run.isTold = false;
}
