import { adoptBranch, selectBranch } from './select.ts';
import { branchesBudget } from '../../features/branches/money.ts';
import { agentOf, askedFor, isCutOff, runAllBranches, type BranchesOptions } from './perform.ts';
import type { BranchOutcome } from '../../features/branches/outcome.ts';
import { onlyBranch } from '../../features/branches/strategies.ts';
import type { WorkingCopies } from '../../features/branches/working-copy.ts';
import type { BranchesInput } from '../../events/inputs.ts';
import type { InputMessage } from '../../events/events.ts';
import { errorText, TreadleError } from '../../errors.ts';
import { userMessages } from '../../session/input.ts';
import { runOf, type BranchPerformer, type PerformContext } from '../../kernel/context.ts';
import type { Step } from '../../kernel/step.ts';
import { waitingRuns } from '../../kernel/state.ts';
import type { Run } from '../../session/run.ts';
import { partsOf } from '../../session/handle.ts';
import { openSession, type Session } from '../../session/session.ts';
import { goOnWith, start } from '../../session/runs.ts';

/** A run whose work is done by branches. Its result is that of the branch that was selected; its usage is that of all. */
export interface BranchesRun extends Run {
  /** What the branches came to, in the order of the configurations; rejects as `result` does. */
  readonly outcomes: Promise<readonly BranchOutcome[]>;
}

/**
 * Does the same in several ways side by side, each in a fork of the session, and adopts one of them: its messages join the
 * session's history, and its files become the session's. The others stay as they are; {@link promoteBranch} adopts one
 * later. A branch that fails doesn't fail the rest.
 *
 * On a session whose process died amid branches it goes on with those: give it the same ones again. What was chosen by then is
 * not chosen again.
 *
 * @throws TreadleError `run_active` during another run; `invalid_definition` without branches, or where they aren't those of
 * the run that is gone on with.
 * @example
 * ```ts
 * import { createSession, defineAgent, runBranches } from '@treadle/core';
 * import { fewestTokens } from '@treadle/core/branches';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const wordy = defineAgent({ configId: 'wordy', model: scriptedModel(['It is four, as far as I can see from here.']) });
 * const terse = defineAgent({ configId: 'terse', model: scriptedModel(['Four.']) });
 * const session = await createSession(wordy);
 * const run = runBranches(session, {
 *   prompt: 'What is two and two?',
 *   branches: [{ agent: wordy }, { agent: terse }],
 *   strategy: fewestTokens(),
 * });
 * console.log((await run.result).text, session.messages.length); // Four. 2
 * ```
 */
export function runBranches(session: Session, options: BranchesOptions): BranchesRun {
  const parts = partsOf(session);
  checkBranches(options);
  const outcomes = Promise.withResolvers<readonly BranchOutcome[]>();
  outcomes.promise.catch(() => {});
  if (parts.active) throw new TreadleError('run_active', 'A run is active in this session. Wait for its end.');
  const { branches: before } = parts;
  parts.branches = (context, step) => perform(context, step, options, outcomes.resolve);
  const run = start(parts, async (control) => {
    const { run: open } = parts.state;
    const [waiting] = waitingRuns(parts.state);
    if (open ? !open.branches : waiting && waiting.input.type !== 'branch') {
      throw new TreadleError('run_active', 'Another run of this session is open. Resume it or abort() it first.');
    }
    // The process that asked for branches is gone: they are gone on with, and nothing is asked for again.
    if (open ?? waiting) return goOnWith(parts, control);
    control.bind((await parts.post(await branchesInput(options))).seq);
  });
  const over = (): void => {
    parts.branches = before;
    outcomes.reject(new TreadleError('not_selected', 'The branches were not brought to an end.'));
  };
  run.result.then(over, (error: unknown) => {
    outcomes.reject(error instanceof Error ? error : new Error(errorText(error)));
    over();
  });
  const { id, result, outcome, abort } = run;
  return {
    id,
    result,
    outcome,
    abort,
    [Symbol.asyncIterator]: () => run[Symbol.asyncIterator](),
    outcomes: outcomes.promise,
  };
}

/** @throws TreadleError `invalid_definition` where there are no branches, or nothing chooses among them. */
function checkBranches({ branches, strategy = onlyBranch() }: BranchesOptions): void {
  if (branches.length === 0) throw new TreadleError('invalid_definition', 'There are no branches to run.');
  if (branches.length === 1 || strategy !== onlyBranch()) return;
  throw new TreadleError(
    'invalid_definition',
    `Nothing chooses among ${branches.length} branches. Add a strategy, such as strategy: firstBranch().`,
  );
}

/**
 * The input that asks for branches. Posted to a session with `branchesBy`, it starts them wherever the session is driven.
 *
 * @throws TreadleError `invalid_definition`
 */
export async function branchesInput(options: BranchesOptions): Promise<BranchesInput> {
  checkBranches(options);
  const { prompt, strategy = onlyBranch(), metadata, data } = options;
  const messages: readonly InputMessage[] = prompt === undefined || prompt === '' ? [] : userMessages(prompt);
  const branches = options.branches.map(async (config, index) => {
    const { configSegment } = await agentOf(config, index, null);
    return { configId: config.configId ?? configSegment, configSegment };
  });
  return {
    type: 'branch',
    messages,
    branches: await Promise.all(branches),
    strategy: strategy.name,
    ...(metadata === undefined ? {} : { metadata }),
    ...(data === undefined ? {} : { data }),
  };
}

/**
 * Goes on with branches in any process, as the option `branches` of a session. `make` returns the same branches and strategy
 * that were asked for, from the `data` of the request.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal, openSession } from '@treadle/core';
 * import { branchesBy, branchesInput, firstBranch } from '@treadle/core/branches';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(['Four.']) });
 * const tries = { branches: [{ agent }, { agent }], strategy: firstBranch() };
 * const journal = memoryJournal();
 * const { id } = await createSession(agent, { journal });
 * await journal.post(id, await branchesInput({ ...tries, prompt: 'Two and two?' }), 'a key', Date.now());
 *
 * const session = await openSession(agent, id, { journal, branches: branchesBy(() => tries) });
 * console.log((await session.resume().result).text); // Four.
 * ```
 */
export const branchesBy =
  (make: (asked: BranchesInput) => BranchesOptions | Promise<BranchesOptions>): BranchPerformer =>
  async (context, step) =>
    perform(context, step, await make(await askedFor(context)));

async function perform(
  context: PerformContext,
  step: Extract<Step, { type: 'run_branches' | 'adopt_branch' }>,
  options: BranchesOptions,
  ended: (outcomes: readonly BranchOutcome[]) => void = () => {},
): Promise<void> {
  const all = runOf(context.state).branches?.all ?? [];
  if (all.length !== options.branches.length) {
    throw new TreadleError(
      'invalid_definition',
      `The open run has ${all.length} branches, not ${options.branches.length}.`,
    );
  }
  if (step.type === 'adopt_branch') return adoptBranch(context, options, step);
  const budget = await branchesBudget(context.journal, context, all);
  const outcomes = await runAllBranches(context, options, all, budget);
  // The plan answers for a run that was stopped. One that is given up goes on elsewhere.
  if (isCutOff(context)) return;
  ended(outcomes);
  await selectBranch(context, options, outcomes, budget);
}

/**
 * Adopts a branch that wasn't selected, or was: its conversation becomes the session's, and its files too. What the session
 * said before stays in the log.
 *
 * @throws TreadleError `run_active` while a run is open, `session_not_found`.
 */
export async function promoteBranch(
  session: Session,
  branchSessionId: string,
  { copies }: { readonly copies?: WorkingCopies } = {},
): Promise<void> {
  const { journal, clock, ids, blobs } = partsOf(session);
  const options = { journal, clock, ids, ...(blobs ? { blobs } : {}) };
  const branch = await openSession(session.agent, branchSessionId, options);
  if (branch.status !== 'idle') throw new TreadleError('run_active', `A run of the branch ${branchSessionId} is open.`);
  await copies?.merge(branchSessionId);
  await session.importMessages(branch.exportMessages());
}
