import type { DurableEvent, JsonObject, RunResult, RunStatus } from '@treadle/core';
import { costTableFold, runResultFold, type CostTableFold, type RunResultFold } from '@treadle/core/projections';
import { UNKNOWN_USAGE } from '@treadle/core/model';

import { wireInput, wireName } from './tools.ts';
import { resultUsage, stopReasonOf } from './usage.ts';

/** What is known of a model besides what it used. */
export type ModelFacts = (model: string) => { readonly contextWindow?: number; readonly outputLimit?: number };

type Subtype =
  | 'success'
  | 'error_during_execution'
  | 'error_max_turns'
  | 'error_max_budget_usd'
  | 'error_max_structured_output_retries';

/** How the end of a run is told. `success` with `is_error` is a reply that isn't what was asked for. */
const RESULTS: Readonly<Record<RunStatus, { readonly subtype: Subtype; readonly isError: boolean }>> = {
  completed: { subtype: 'success', isError: false },
  model_error: { subtype: 'success', isError: true },
  refused: { subtype: 'success', isError: true },
  length: { subtype: 'success', isError: true },
  turn_limit: { subtype: 'error_max_turns', isError: true },
  tool_turn_limit: { subtype: 'error_max_turns', isError: true },
  budget_limit: { subtype: 'error_max_budget_usd', isError: true },
  invalid_output: { subtype: 'error_max_structured_output_retries', isError: true },
  aborted: { subtype: 'error_during_execution', isError: true },
  stopped: { subtype: 'error_during_execution', isError: true },
  rejected: { subtype: 'error_during_execution', isError: true },
  token_limit: { subtype: 'error_during_execution', isError: true },
  time_limit: { subtype: 'error_during_execution', isError: true },
  tool_call_limit: { subtype: 'error_during_execution', isError: true },
  reply_limit: { subtype: 'error_during_execution', isError: true },
  thinking_limit: { subtype: 'error_during_execution', isError: true },
  arguments_limit: { subtype: 'error_during_execution', isError: true },
  loop_detected: { subtype: 'error_during_execution', isError: true },
  context_limit: { subtype: 'error_during_execution', isError: true },
  guardrail_failed: { subtype: 'error_during_execution', isError: true },
};

/** Folds the events of a session, and those of its sub-agents, into the results of its runs. */
export function resultProjection(folder: string, facts: ModelFacts) {
  /** By session: what this process has seen of it. */
  const costs = new Map<string, CostTableFold>();
  let fold: RunResultFold | null = null;
  let runId: string | null = null;

  function spend(sessionId: string, event: DurableEvent): void {
    const table = costs.get(sessionId) ?? costTableFold();
    costs.set(sessionId, table);
    table.take(event);
  }

  return {
    /** An event from before this process: it is a part of the run that is gone on with, and was paid for then. */
    recall(event: DurableEvent): void {
      if (event.type === 'run_started') {
        ({ runId } = event);
        fold = runResultFold(runId);
      }
      fold?.take(event);
    },
    take(sessionId: string, event: DurableEvent): void {
      spend(sessionId, event);
      this.recall(event);
    },
    takeOfChild: spend,
    /** US dollars that this process has spent, as far as that is known. */
    spent: (): number => totalOf(costs.values()),
    /** The same by model. */
    modelUsage: () => modelUsage(costs.values(), facts),
    /** What the run that has ended came to. */
    result(event: Extract<DurableEvent, { readonly type: 'run_ended' }>): JsonObject {
      const result = fold !== null && event.runId === runId ? fold.result() : null;
      const { subtype, isError } = RESULTS[event.status];
      const { message = null, error } = event;
      const why = message ?? error?.message ?? event.status;
      return {
        type: 'result',
        subtype,
        is_error: isError,
        duration_ms: result?.durationMs ?? 0,
        duration_api_ms: result?.apiDurationMs ?? 0,
        num_turns: event.turns,
        stop_reason: stopReasonOf(result?.finalMessage?.stopReason ?? event.stopReason),
        terminal_reason: event.status,
        total_cost_usd: totalOf(costs.values()),
        usage: resultUsage(result?.usage ?? UNKNOWN_USAGE),
        modelUsage: modelUsage(costs.values(), facts),
        permission_denials: denials(result, folder),
        ...(subtype === 'success' ? { result: textOf(result, isError, why) } : {}),
        ...(isError ? { errors: [why] } : {}),
        ...(result?.output === undefined ? {} : { structured_output: result.output as JsonObject }),
        ...(error?.status === undefined ? {} : { api_error_status: error.status }),
      };
    },
  };
}

const textOf = (result: RunResult | null, isError: boolean, why: string): string => {
  const text = result?.text ?? '';
  return isError && text === '' ? why : text;
};

const denials = (result: RunResult | null, folder: string): JsonObject[] =>
  (result?.permissionDenials ?? []).map(({ toolName, callId, arguments: input }) => ({
    tool_name: wireName(toolName),
    tool_use_id: callId,
    tool_input: wireInput(toolName, input, folder),
  }));

const totalOf = (tables: Iterable<CostTableFold>): number =>
  [...tables].reduce((sum, table) => sum + table.table().total.costAtLeast, 0);

function modelUsage(tables: Iterable<CostTableFold>, facts: ModelFacts) {
  const models = new Map<string, Record<string, number>>();
  for (const table of tables) {
    for (const { model, usage, costAtLeast } of table.table().models) {
      const name = model ?? 'unknown';
      const { contextWindow = 0, outputLimit = 0 } = facts(name);
      const before = models.get(name);
      models.set(name, {
        inputTokens: (before?.['inputTokens'] ?? 0) + (usage.input ?? 0),
        outputTokens: (before?.['outputTokens'] ?? 0) + (usage.output ?? 0),
        cacheReadInputTokens: (before?.['cacheReadInputTokens'] ?? 0) + (usage.cacheRead ?? 0),
        cacheCreationInputTokens: (before?.['cacheCreationInputTokens'] ?? 0) + (usage.cacheWrite ?? 0),
        webSearchRequests: 0,
        costUSD: (before?.['costUSD'] ?? 0) + costAtLeast,
        contextWindow,
        maxOutputTokens: outputLimit,
      });
    }
  }
  return Object.fromEntries(models);
}
