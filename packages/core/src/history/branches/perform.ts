import type { Agent } from '../../agent/agent.ts';
import { agentWithin } from '../../features/branches/money.ts';
import type { BranchOutcome, BranchStrategy, EvaluationBudget } from '../../features/branches/outcome.ts';
import type { WorkingCopies } from '../../features/branches/working-copy.ts';
import type { BranchRef } from '../../events/branches.ts';
import type { BranchesInput } from '../../events/inputs.ts';
import type { DurableEvent, TreadleEvent } from '../../events/events.ts';
import { errorText, TreadleError } from '../../errors.ts';
import type { UserInput } from '../../session/input.ts';
import type { JsonObject } from '../../json.ts';
import { runOf, type PerformContext, type SessionContext } from '../../kernel/context.ts';
import type { Message } from '../../messages/message.ts';
import { UNKNOWN_USAGE } from '../../model/usage.ts';
import { runMessagesFold } from '../../projections/run-messages.ts';
import { runResultFold, type RunResult } from '../../projections/run-result.ts';
import { openSession, type Session } from '../../session/session.ts';
import { forkSession } from '../sessions.ts';

/** One of the ways in which the same is tried. */
export interface BranchConfig {
  /** Who does it: an agent, or a function that makes one for the branch's own folder. */
  readonly agent:
    Agent | ((place: { readonly index: number; readonly folder: string | null }) => Agent | Promise<Agent>);
  /** Names it. Default: the configuration's segment of its agent. */
  readonly configId?: string;
  /** The name of one of the models of the agent's `routing`. Default: as the agent chooses. */
  readonly model?: string;
}

/** Options of `runBranches`. */
export interface BranchesOptions {
  /** In order. */
  readonly branches: readonly BranchConfig[];
  /** What each is told. Absent or empty: they go on with the history as it is. */
  readonly prompt?: UserInput;
  /** Chooses among those that completed. Default: the only one. */
  readonly strategy?: BranchStrategy;
  /** Gives each branch a copy of the files of its own, and makes the winner's the original. */
  readonly copies?: WorkingCopies;
  /** Data of the caller's, kept in `run_started`. */
  readonly metadata?: JsonObject;
  /** What `branchesBy` needs to know to make the same branches in another process. Kept in the log. */
  readonly data?: JsonObject;
  /** Told of each event of each branch. The run's own stream has them too, as `branch_event`. */
  readonly onEvent?: (event: TreadleEvent, branch: BranchRef) => void;
  /** Told of each branch as it ends, whatever the others do. */
  readonly onOutcome?: (outcome: BranchOutcome) => void;
}

export const agentOf = ({ agent }: BranchConfig, index: number, folder: string | null): Agent | Promise<Agent> =>
  typeof agent === 'function' ? agent({ index, folder }) : agent;

/** Runs all branches side by side, and says what each came to. */
export async function runAllBranches(
  context: PerformContext,
  options: BranchesOptions,
  all: readonly BranchRef[],
  budget: EvaluationBudget | null,
): Promise<readonly BranchOutcome[]> {
  const asked = await askedFor(context);
  return Promise.all(
    all.map(async (branch, index) => {
      const outcome = await runOne(context, options, { branch, index, asked, budget });
      if (!isCutOff(context)) options.onOutcome?.(outcome);
      return outcome;
    }),
  );
}

/** Whether what the branches came to is not their end: they were stopped, or go on elsewhere. */
export const isCutOff = ({ interrupt, hold }: PerformContext): boolean =>
  interrupt.fired() !== null || hold.yielding.aborted;

/** The request of the open run's branches. */
export async function askedFor({ state, log }: PerformContext): Promise<BranchesInput> {
  const { inputSeq } = runOf(state);
  for await (const event of log.read(inputSeq)) {
    if (event.type === 'input_received' && event.input.type === 'branch') return event.input;
    break;
  }
  throw new TreadleError('journal_corrupt', `Event ${inputSeq} doesn't say what the branches are.`);
}

interface OneBranch {
  readonly branch: BranchRef;
  readonly index: number;
  readonly asked: BranchesInput;
  readonly budget: EvaluationBudget | null;
}

/** Runs a branch to its end, or goes on with it where another process was. Never rejects: failing is an outcome. */
async function runOne(context: PerformContext, options: BranchesOptions, one: OneBranch): Promise<BranchOutcome> {
  const { branch, index } = one;
  let folder: string | null = null;
  try {
    folder = options.copies ? (await options.copies.open(branch.sessionId)).folder : null;
    const config = options.branches[index];
    if (!config) throw new TreadleError('internal', `There is no configuration ${index}.`);
    const agent = agentWithin(await agentOf(config, index, folder), one.budget);
    // A branch is no session of its own to those who look at lists.
    const session = await openBranch(context, { ...agent, title: null }, branch);
    const { runId } = runOf(context.state);
    const unsubscribe = session.subscribe((event) => {
      options.onEvent?.(event, branch);
      if (context.observed()) context.emit({ type: 'branch_event', afterSeq: context.state.seq, runId, branch, event });
    });
    const forget = context.interrupt.on(
      () => void session.abort('The run that it is a branch of was stopped.').catch(() => {}),
    );
    const { yielding } = context.hold;
    const yieldToo = (): void => void session.yield().catch(() => {});
    yielding.addEventListener('abort', yieldToo);
    try {
      await driveBranch(context, session, one, config.model);
      return await outcomeOf(context, one, folder);
    } finally {
      yielding.removeEventListener('abort', yieldToo);
      forget();
      await session.close();
      unsubscribe();
    }
  } catch (error) {
    return {
      ...(await outcomeOf(context, one, folder).catch(() => unknownOutcome(one, folder))),
      status: 'failed',
      message: errorText(error),
    };
  }
}

async function openBranch(
  { state, journal, clock, ids, random, owner, blobs }: PerformContext,
  agent: Agent,
  { sessionId }: BranchRef,
): Promise<Session> {
  const options = { journal, clock, ids, random, owner, ...(blobs ? { blobs } : {}) };
  try {
    return await openSession(agent, sessionId, options);
  } catch (error) {
    if (!(error instanceof TreadleError) || error.code !== 'session_not_found') throw error;
  }
  // Before the input that asked for branches: what is open there is not the fork's.
  const { inputSeq, runId } = runOf(state);
  const how = { at: inputSeq - 1, id: sessionId, branchOf: runId };
  await forkSession(journal, state.sessionId, how, { clock, ids });
  return openSession(agent, sessionId, options);
}

async function driveBranch(
  context: PerformContext,
  session: Session,
  { branch, asked }: OneBranch,
  model: string | undefined,
): Promise<void> {
  const how = {
    continuation: { kind: 'branch', tag: branch.configId },
    ...(model !== undefined && { model }),
  } as const;
  const known = session.status !== 'idle' ? null : await resultOf(context, branch);
  let result: RunResult | null = known;
  if (session.status !== 'idle') result = await session.resume().result;
  else if (known === null) {
    const run = asked.messages.length > 0 ? session.prompt(asked.messages, how) : session.continue(how);
    result = await run.result;
  }
  // Nobody is there to answer for one of several.
  if (result?.status === 'paused') await session.abort('A branch can not wait for an answer.');
}

/** The events of a branch after the fork. */
async function* ownEvents({ journal }: SessionContext, { sessionId }: BranchRef): AsyncGenerator<DurableEvent> {
  let isOwn = false;
  for await (const event of journal.read(sessionId, 1)) {
    if (isOwn) yield event;
    else isOwn = event.type === 'session_created' && event.sessionId === sessionId;
  }
}

/** What the run of a branch came to; null when it has none that ended. */
async function resultOf(context: SessionContext, branch: BranchRef): Promise<RunResult | null> {
  let fold: ReturnType<typeof runResultFold> | null = null;
  for await (const event of ownEvents(context, branch)) {
    if (fold === null && (event.type === 'run_started' || event.type === 'run_ended'))
      fold = runResultFold(event.runId);
    fold?.take(event);
  }
  return fold?.isSettled() ? fold.result() : null;
}

async function outcomeOf(context: SessionContext, one: OneBranch, folder: string | null): Promise<BranchOutcome> {
  const result = await resultOf(context, one.branch);
  if (result === null) return unknownOutcome(one, folder);
  const { runId, status, message, text, turns, usage, cost } = result;
  return {
    ...unknownOutcome(one, folder),
    runId,
    status: status,
    message: status === 'completed' ? null : (message ?? `The run ended as ${status}.`),
    text: text,
    messages: await messagesOf(context, one.branch),
    turns,
    usage,
    cost,
  };
}

const unknownOutcome = ({ branch, index }: OneBranch, folder: string | null): BranchOutcome => ({
  index,
  sessionId: branch.sessionId,
  configId: branch.configId,
  runId: null,
  status: 'failed',
  message: 'No run of it ended.',
  text: '',
  messages: [],
  turns: 0,
  usage: UNKNOWN_USAGE,
  cost: null,
  folder,
});

/** All that a branch added to the history and models were sent. */
export async function messagesOf(context: SessionContext, branch: BranchRef): Promise<Message[]> {
  const fold = runMessagesFold();
  for await (const event of ownEvents(context, branch)) {
    if (event.type !== 'message_added' || event.inView) fold.take(event);
  }
  return fold.messages();
}
