import type { Agent } from '../agent/agent.ts';
import type { UserInput } from '../session/input.ts';
import type { Journal } from '../journal/journal.ts';
import { systemClock } from '../ports/clock.ts';
import { randomIds } from '../ports/ids.ts';
import type { Run } from '../session/run.ts';
import { openSession, type RunOptions, type Session, type SessionOptions } from '../session/session.ts';
import { branchOf, rerunOf, type ForkedRun } from './rerun-input.ts';
import { forkSession, type ForkOptions } from './sessions.ts';

/** What re-running and branching take. */
export interface AgainOptions extends SessionOptions, RunOptions {
  readonly journal: Journal;
  /** The run to do again, or to do otherwise. Default: the session's latest. */
  readonly runId?: string;
  /** Names the attempt. Default: the time, as in RFC 3339. */
  readonly tag?: string;
  /** How the new session begins. */
  readonly fork?: Omit<ForkOptions, 'at'>;
}

/** Options of {@link branchSession}. */
export interface BranchOptions extends Omit<AgainOptions, 'runId'> {
  /** Another path from where this run, or with true the latest one, began: without its prompt and all that came of it. */
  readonly instead?: string | true;
  /** Another path from where this event happened. Give one of the two; without either it is the session's end. */
  readonly at?: number;
  /** What the branch is told. Without it the history is gone on with as it is. */
  readonly prompt?: UserInput;
}

/** A run in a session of its own, which shares what was before it with another one. */
export interface RunAgain {
  readonly session: Session;
  readonly run: Run;
}

/**
 * Does a run again: with the same prompt, from what was before it, in a fork of the session. The run's continuation is
 * `rerun` with the tag; its parent is the run that came before, or for a
 * session's first run the one that is done again.
 *
 * @throws TreadleError `nothing_to_continue` when there is no such run.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { rerunSession } from '@treadle/core/history';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const agent = defineAgent({ model: scriptedModel(['Heads.', 'Tails.']) });
 * const session = await createSession(agent, { journal });
 * await session.prompt('Toss a coin.').result;
 *
 * const again = await rerunSession(agent, session.id, { journal });
 * console.log((await again.run.result).text); // Tails.
 * ```
 */
export async function rerunSession(agent: Agent, sessionId: string, options: AgainOptions): Promise<RunAgain> {
  return runForked(agent, sessionId, await rerunOf(options.journal, sessionId, options), options);
}

/**
 * Takes another path from a point of a session, in a fork of it: with another prompt, or with none. The run's continuation
 * is `branch` with the tag.
 *
 * @throws TreadleError `nothing_to_continue` when there is no such run, or without a prompt nothing to go on with;
 * `session_not_found` when there is no such event; `ends_with_assistant`.
 */
export async function branchSession(agent: Agent, sessionId: string, options: BranchOptions): Promise<RunAgain> {
  return runForked(agent, sessionId, await branchOf(options.journal, sessionId, options), options);
}

async function runForked(
  agent: Agent,
  sessionId: string,
  { at, messages, continuation }: ForkedRun,
  options: Omit<AgainOptions, 'runId'>,
): Promise<RunAgain> {
  const { journal, clock = systemClock, ids = randomIds } = options;
  const place = at === undefined ? {} : { at };
  const id = await forkSession(journal, sessionId, { ...options.fork, ...place }, { clock, ids });
  const session = await openSession(agent, id, options);
  const how = { ...runOptions(options), continuation };
  return { session, run: messages ? session.prompt(messages, how) : session.continue(how) };
}

const runOptions = ({ metadata, limits }: RunOptions): RunOptions => ({
  ...(metadata === undefined ? {} : { metadata }),
  ...(limits === undefined ? {} : { limits }),
});
