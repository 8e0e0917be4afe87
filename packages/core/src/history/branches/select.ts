import { addSpending, NOTHING_SPENT, type Spending } from '../../projections/spending.ts';
import { textsOf } from '../../messages/final-text.ts';
import { messagesOf, type BranchesOptions } from './perform.ts';
import type { BranchOutcome, BranchStrategy, Evaluation, EvaluationBudget } from '../../features/branches/outcome.ts';
import { onlyBranch } from '../../features/branches/strategies.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { errorText } from '../../errors.ts';
import { runOf, type PerformContext } from '../../kernel/context.ts';
import type { Step } from '../../kernel/step.ts';
import type { Message } from '../../messages/message.ts';
import { NO_USAGE, UNKNOWN_USAGE } from '../../model/usage.ts';

/** Chooses, and writes down at once what was chosen. */
export async function selectBranch(
  context: PerformContext,
  { strategy = onlyBranch() }: BranchesOptions,
  outcomes: readonly BranchOutcome[],
  budget: EvaluationBudget | null,
): Promise<void> {
  const { state, log, clock } = context;
  const { runId } = runOf(state);
  const completed = outcomes.filter(({ status }) => status === 'completed');
  const chosen = completed.length === 0 ? allFailed(outcomes) : await evaluate(context, strategy, completed, budget);
  if (context.interrupt.fired() !== null) return;
  const at = clock.now();
  const ends = outcomes.map(({ sessionId, status, usage, cost }) => ({ sessionId, status, usage, cost }));
  const winner = 'problem' in chosen ? undefined : completed.find(({ index }) => index === chosen.selectedIndex);
  if (!winner) {
    const message = 'problem' in chosen ? chosen.problem : `${strategy.name} chose a branch that didn't complete.`;
    const error = { kind: 'other', message, retryable: false } as const;
    const { usage, cost } = totalOf(outcomes);
    await log.record([
      { type: 'run_ended', at, runId, status: 'model_error', stopReason: null, message, error, usage, cost, turns: 0 },
    ]);
    return;
  }
  const { selectedIndex, cost = 0, reason, ...asked } = chosen as Evaluation;
  const { usage = cost === 0 ? NO_USAGE : UNKNOWN_USAGE } = asked;
  const decision = { selectedIndex, strategy: strategy.name, ...(reason === undefined ? {} : { reason }) };
  await log.record([
    { type: 'decision_made', at, runId, kind: 'judge', key: `judge:${runId}`, decision },
    {
      type: 'branches_ended',
      at,
      runId,
      selectedSessionId: winner.sessionId,
      selectedIndex,
      evaluationUsage: usage,
      evaluationCost: cost,
      branches: ends,
    },
  ]);
}

interface Problem {
  readonly problem: string;
}

function allFailed(outcomes: readonly BranchOutcome[]): Problem {
  const why = outcomes.map(({ configId, message }) => `${configId}: ${message ?? 'failed'}`).join(' ');
  return { problem: `All ${outcomes.length} branches failed. ${why}` };
}

async function evaluate(
  context: PerformContext,
  strategy: BranchStrategy,
  completed: readonly BranchOutcome[],
  budget: EvaluationBudget | null,
): Promise<Evaluation | Problem> {
  const { state, clock, interrupt, emit } = context;
  const abort = new AbortController();
  const forget = interrupt.on(() => abort.abort());
  const { runId } = runOf(state);
  try {
    return await strategy.evaluate(completed, {
      query: queryOf(completed, state.view),
      history: state.view.slice(),
      signal: abort.signal,
      clock,
      budget,
      warn: (message) => emit({ type: 'warning', afterSeq: state.seq, runId, code: 'evaluation', message }),
    });
  } catch (error) {
    return { problem: `${strategy.name} failed: ${errorText(error)}` };
  } finally {
    forget();
  }
}

/** The prompt of the branches; where they went on with the history, what the user had said last. */
function queryOf(outcomes: readonly BranchOutcome[], history: readonly Message[]): string {
  const isAsked = (message: Message): boolean =>
    message.role === 'user' && ['prompt', 'follow_up', 'import'].includes(message.origin);
  const asked = outcomes[0]?.messages.find(isAsked) ?? history.findLast(isAsked);
  if (asked?.role !== 'user') return '';
  return textsOf(asked.content).join('\n');
}

const totalOf = (outcomes: readonly BranchOutcome[]): Spending =>
  outcomes.reduce<Spending>((sum, outcome) => addSpending(sum, outcome), NOTHING_SPENT);

/** The files first, for they can be taken over again; then the history, with the end of the run. */
export async function adoptBranch(
  context: PerformContext,
  { copies }: BranchesOptions,
  { sessionId, selectedIndex }: Extract<Step, { type: 'adopt_branch' }>,
): Promise<void> {
  const { state, log, clock } = context;
  const { runId, branches, usage, cost } = runOf(state);
  await copies?.merge(sessionId);
  const branch = branches?.all[selectedIndex] ?? { sessionId, configId: '' };
  const messages = await messagesOf(context, branch);
  const at = clock.now();
  const adopted = messages.map((message): DurableEventBody => ({
    type: 'message_added',
    at,
    runId,
    message,
    inView: true,
    fromBranch: sessionId,
  }));
  const last = messages.findLast((message) => message.role === 'assistant');
  const stopReason = last?.role === 'assistant' ? last.stopReason : null;
  await log.record([
    ...adopted,
    { type: 'run_ended', at, runId, status: 'completed', stopReason, usage, cost, turns: 0 },
  ]);
}
