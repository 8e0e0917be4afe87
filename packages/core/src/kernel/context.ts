import type { ChildRunner, SERVICES, TaskDesk } from './features.ts';
import type { Agent } from '../agent/agent.ts';
import type { BlobKeeper } from '../ports/blob-keeper.ts';
import type { LiveEvent } from '../events/events.ts';
import type { Claim, Journal } from '../journal/journal.ts';
import type { SnapshotKeeper } from './snapshot/keeper.ts';
import type { Hub } from './watching/hub.ts';
import type { Step } from './step.ts';
import type { Message } from '../messages/message.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Interrupt } from './perform/interrupt.ts';
import type { DriveLog } from './log.ts';
import type { modelRequest } from './perform/request.ts';
import type { OpenMessage } from './perform/open-message.ts';
import type { RunState, SessionState } from './state.ts';
import type { ToolProgress } from './perform/tool-progress.ts';

/** The session's claim in this process. */
export interface Hold {
  /** Takes the session for a drive. `lost` is called when another process has it. */
  claim(lost: () => void): Promise<Claim>;
  /** The drive has ended: lets the session go, unless something of it still runs here. */
  letGo(): Promise<void>;
  /** Aborted when the drive is to stop before its next step. */
  readonly yielding: AbortSignal;
}

/** A session's ports and its state, in this process. */
export interface SessionContext {
  readonly sessionId: string;
  /** The agent that drives the session. */
  readonly agent: Agent;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number from 0 to 1: the spread of retries. */
  readonly random: () => number;
  /** Shown to the next process that wants the session. */
  readonly owner: string;
  readonly hold: Hold;
  /** The application's own, for its tools. */
  readonly appContext: unknown;
  /** Null where the session keeps none. */
  readonly blobs: BlobKeeper | null;
  readonly state: SessionState;
  /** Keeps snapshots of the state, so that the next process needn't fold the whole log; null when nobody does. */
  readonly keeper: SnapshotKeeper | null;
  /** Tells watchers. */
  readonly hub: Hub;
  /** Where background tasks are begun and ended; null until something needs it. */
  readonly tasks: TaskDesk | null;
  /** Runs branches and takes over the selected one; null where nobody has said what they are. */
  readonly branches: BranchPerformer | null;
  /** Runs the sub-agents that calls start. */
  readonly childRunner: ChildRunner;
}

/** Does what a step about branches says, and records it. */
export type BranchPerformer = (
  context: PerformContext,
  step: Extract<Step, { type: 'run_branches' | 'adopt_branch' }>,
) => Promise<void>;

/** The context of a session while a drive works on it: effects may write its log, and may be interrupted. */
export interface PerformContext extends SessionContext {
  /** As the open run has it: its client may offer tools of its own. */
  agent: Agent;
  readonly log: DriveLog;
  readonly interrupt: Interrupt;
  /** Tells watchers; never throws. */
  readonly emit: (event: LiveEvent) => void;
  /** False when nobody watches, so that live events needn't be made. */
  readonly observed: () => boolean;
  /** The message being streamed is kept here, for watchers who join late. */
  readonly setOpenMessage: (message: OpenMessage | null) => void;
  /** Resolves when the ledger, if there is one, has heard of every settlement in the log. */
  readonly ledgerHeard: () => Promise<void>;
  /** Says how long calls have been running. */
  readonly toolProgress: ToolProgress;
  /** Callbacks that are being asked, and may ask a person. */
  asking: number;
  /** What a model is sent of the view. */
  readonly modelRequest: typeof modelRequest;
  /** What features do for each other. */
  readonly services: typeof SERVICES;
  /** See `ToolContext`. */
  readonly readHistory: (handle: string) => Promise<readonly Message[]>;
}

/** The open run; performing anything without one is a defect. */
export function runOf(state: SessionState): RunState {
  if (state.run === null) throw new Error('A step was performed without an open run.');
  return state.run;
}
