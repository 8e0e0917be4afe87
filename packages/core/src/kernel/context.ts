import type { ChildRunner, SERVICES, TaskDesk } from './features.ts';
import type { Agent } from '../agent/agent.ts';
import type { BlobKeeper } from '../ports/blob-keeper.ts';
import type { LiveEvent } from '../events/events.ts';
import type { Message } from '../messages/message.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Interrupt } from './perform/interrupt.ts';
import type { DriveLog } from './log.ts';
import type { modelRequest } from './perform/request.ts';
import type { OpenMessage } from './perform/open-message.ts';
import type { RunState, SessionState } from './state.ts';
import type { ToolProgress } from './perform/tool-progress.ts';

/** What performing a step may use: the ports, the log and the state of the drive. */
export interface PerformContext {
  /** As the open run has it: its client may offer tools of its own. */
  agent: Agent;
  readonly state: SessionState;
  readonly log: DriveLog;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number from 0 to 1: the spread of retries. */
  readonly random: () => number;
  readonly interrupt: Interrupt;
  /** Tells watchers; never throws. */
  readonly emit: (event: LiveEvent) => void;
  /** False when nobody watches, so that live events needn't be made. */
  readonly observed: () => boolean;
  /** The message being streamed is kept here, for watchers who join late. */
  readonly setOpenMessage: (message: OpenMessage | null) => void;
  /** Resolves when the ledger, if there is one, has heard of every settlement in the log. */
  readonly ledgerHeard: () => Promise<void>;
  /** Where background tasks are begun and ended; null when the agent has none. */
  readonly tasks: TaskDesk | null;
  /** Runs the sub-agents that calls start. */
  readonly children: ChildRunner;
  /** Says how long calls have been running. */
  readonly toolProgress: ToolProgress;
  /** The session's blobs; null where it keeps none. */
  readonly blobs: BlobKeeper | null;
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
