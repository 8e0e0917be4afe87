import fc from 'fast-check';
import { scriptedModel } from '@treadle/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import { addUsage, UNKNOWN_USAGE } from '../entries/model.ts';
import type { DurableEvent } from '../index.ts';
import { anyLog, logsOfAllKinds } from '../test-support/logs.ts';
import { costTable, costTableFold, type CostSum, type CostTable } from './cost-table.ts';

let logs: ReadonlyMap<string, readonly DurableEvent[]>;
beforeAll(async () => {
  logs = await logsOfAllKinds();
});

const tableOf = (name: string): CostTable => costTable(logs.get(name) ?? []);
const model = scriptedModel([]);
const scripted = { provider: model.provider, model: model.id };
const unknown = { provider: null, model: null };

/** Rounded, for the order of a sum decides its last digit. */
const round = (dollars: number | null): number | null => (dollars === null ? null : Math.round(dollars * 1e9) / 1e9);

const sum = (rows: readonly CostSum[]) => ({
  calls: rows.reduce((calls, row) => calls + row.calls, 0),
  usage: rows.reduce((usage, row) => addUsage(usage, row.usage), UNKNOWN_USAGE),
  cost: round(
    rows.reduce<number | null>((cost, row) => (cost === null || row.cost === null ? null : cost + row.cost), 0),
  ),
  costAtLeast: round(rows.reduce((cost, row) => cost + row.costAtLeast, 0)),
});

function expectConsistent(log: readonly DurableEvent[]): void {
  const { models, runs, total } = costTable(log);
  expect(sum(models)).toEqual(sum([total]));
  expect(sum(runs)).toEqual(sum([total]));
  for (const event of log) {
    if (event.type !== 'run_ended') continue;
    const run = runs.find(({ runId }) => runId === event.runId);
    // What a fork shares with its parent is the parent's.
    if (run) expect({ usage: run.usage, cost: run.cost }).toEqual({ usage: event.usage, cost: event.cost });
  }
}

describe('a cost table', () => {
  it('sums up the same by model, by run and altogether, as the runs themselves do', async () => {
    for (const log of logs.values()) expectConsistent(log);
    await fc.assert(
      fc.asyncProperty(anyLog, async (playing) => expectConsistent(await playing)),
      { numRuns: 100 },
    );
  });

  it('is the same folded event by event and all at once, and does not change when more is folded', () => {
    for (const log of logs.values()) {
      const fold = costTableFold();
      log.forEach((event, index) => {
        const before = fold.table();
        fold.take(event);
        expect(before).toEqual(costTable(log.slice(0, index)));
      });
    }
  });

  it('counts each call of a model with its tokens', () => {
    const counts = {
      calls: 2,
      usage: { input: 200, output: 20, cacheRead: 80, cacheWrite: 0, reasoning: null },
      cost: 0.2,
      costAtLeast: 0.2,
      cacheHitRate: 80 / 280,
    };
    const { models, runs, total } = tableOf('tools');
    expect(models).toEqual([{ ...scripted, ...counts }]);
    expect(runs).toMatchObject([{ status: 'completed', ...counts }]);
    expect(total).toEqual(counts);
  });

  it('counts attempts that failed, and what they are known to have used', () => {
    const { models, total } = tableOf('failed and tried again');
    // The first never began, the second broke off: nobody knows what it cost.
    expect(total).toMatchObject({ calls: 3, cost: null, costAtLeast: 0.1, cacheHitRate: null });
    expect(models).toMatchObject([{ ...scripted, calls: 3 }]);
    expect(tableOf('failed').total.calls).toBe(1);
    expect(tableOf('continued').total).toMatchObject({ calls: 3, cost: 0.2 });
  });

  it('P34: has no cost for what nobody counted, and says what it was at least', () => {
    expect(tableOf('cancelled').total).toMatchObject({ calls: 1, usage: UNKNOWN_USAGE, cost: null, costAtLeast: 0 });
  });

  it('says that nothing was spent where nothing was', () => {
    expect(tableOf('rejected by a hook')).toMatchObject({
      models: [],
      runs: [{ status: 'rejected', calls: 0, cost: 0 }],
      total: { calls: 0, usage: UNKNOWN_USAGE, cost: 0, cacheHitRate: null },
    });
  });

  it('has summaries as the work of a model that the log does not name', () => {
    const compactions = logs.get('summarised')?.filter(({ type }) => type === 'compacted').length ?? 0;
    expect(compactions).toBeGreaterThan(0);
    expect(tableOf('summarised').models).toMatchObject([
      { ...scripted, cost: null },
      { ...unknown, calls: compactions, costAtLeast: expect.closeTo(compactions / 10) as number },
    ]);
  });

  it('has a row per run, also before its end', () => {
    expect(tableOf('continued').runs).toMatchObject([
      { status: 'model_error', calls: 1, cost: 0 },
      { status: 'completed', calls: 1, cost: 0.1 },
      { status: 'completed', calls: 1, cost: 0.1 },
    ]);
    expect(tableOf('paused').runs).toMatchObject([{ status: null, calls: 1, cost: 0.1 }]);
  });

  it('leaves to the parent what a fork shares with it, unless that is asked for', () => {
    const log = logs.get('forked') ?? [];
    expect(costTable(log)).toMatchObject({ runs: [{ calls: 1 }], total: { calls: 1, cost: 0.1 } });
    expect(costTable(log, { inherited: true })).toMatchObject({ runs: [{}, {}], total: { calls: 2, cost: 0.2 } });
  });
});
