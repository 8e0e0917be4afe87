import type { BranchRef } from '../events/branches.ts';
import type { DurableEvent } from '../events/events.ts';
import type { GeneratedFile } from '../events/generated-files.ts';
import { approvalsFold } from '../features/approvals/fold.ts';
import { tasksFold } from '../features/background/fold.ts';
import type { TaskState, TaskTable } from '../features/background/task.ts';
import { branchesFold } from '../features/branches/fold.ts';
import { budgetFold } from '../features/budget/fold.ts';
import { compactionFold } from '../features/compaction/fold.ts';
import { filesFold } from '../features/files/fold.ts';
import { guardrailsFold } from '../features/guardrails/fold.ts';
import { handoffFold } from '../features/handoff/fold.ts';
import { hooksFold } from '../features/hooks/fold.ts';
import { limitsFold, newRunLimits } from '../features/limits/fold.ts';
import type { RunLimits } from '../features/limits/state.ts';
import { outputFold } from '../features/output/fold.ts';
import { permissionsFold } from '../features/permissions/fold.ts';
import type { SessionPermissions } from '../features/permissions/updates.ts';
import { routingFold } from '../features/routing/fold.ts';
import { sharedStateFold } from '../features/shared-state/fold.ts';
import { titlesFold } from '../features/titles/fold.ts';
import { turnContextFold } from '../features/turn-context/fold.ts';
import type { Slot } from '../features/turn-context/slots.ts';
import type { JsonObject } from '../json.ts';
import type { ModelError } from '../model/model.ts';
import type { EventOf, Fold } from './fold.ts';

export type { SessionPermissions, TaskState };

/**
 * Who folds events besides the kernel, in this order. Files are looked after before a feature replaces the view that they
 * are known from.
 */
export const FOLDS: readonly Fold[] = [
  filesFold,
  compactionFold,
  handoffFold,
  approvalsFold,
  hooksFold,
  permissionsFold,
  limitsFold,
  budgetFold,
  guardrailsFold,
  outputFold,
  turnContextFold,
  routingFold,
  branchesFold,
  tasksFold,
  titlesFold,
  sharedStateFold,
];

/** What features keep of a session. */
export interface SessionSlices {
  /** Titles: what it is called; null while nobody has said so. */
  title: string | null;
  /** Titles: a run has completed. */
  completed: boolean;
  /** Compaction: tokens of the view after the last one; null when there was none. */
  compactedTo: number | null;
  /** Turn context: what the view says newest of what providers say before turns. */
  readonly slots: Map<Slot, string>;
  /** Files: what the model knows of them, by path, as long as the result that told it is in the view. */
  readonly reads: Map<string, KnownFile>;
  /** Files: present once some of the provider's are kept as blobs: these, the oldest first. */
  keptFiles?: readonly Pick<GeneratedFile, 'fileId' | 'provider' | 'name' | 'mediaType' | 'blob'>[];
  /** Hooks: what they want the model to know and it hasn't been told, oldest first. `key` is the decision's that has it. */
  notes: { readonly id: string; readonly text: string; readonly key: string }[];
  /** Permissions: what this session has changed of the agent's; null for nothing. */
  permissions: SessionPermissions | null;
  /** Budget: the last call that money was set aside for. */
  settled: SettledCall | null;
  /** Shared state: absent until a client or a tool has set it. */
  shared?: JsonObject;
  /** Background: null until a task has been started. */
  tasks: TaskTable | null;
}

/** What features keep of the open run. */
export interface RunSlices {
  /** Limits and budget. */
  limits: RunLimits;
  /** Routing: the newest failure, where somebody chooses models and a call failed. */
  lastFailure?: { readonly turnIndex: number; readonly modelIndex: number; readonly kind: ModelError['kind'] };
  /** Files: those that results of provider tools name, and that no `files_generated` has told of. */
  seenFiles?: SeenFile[];
  /** Compaction: set when the view had to become smaller and couldn't: why. */
  tooLong: string | null;
  /** Hooks: how often a stop hook has kept the run going. */
  stopsRefused: number;
  /** Guardrails: answers that failed the check. */
  checksFailed: number;
  /** Output: values that didn't fit their schema. */
  outputsFailed: number;
  /** Branches: present when they do its work: which, and which of them was selected. */
  branches?: {
    readonly all: readonly BranchRef[];
    selected?: { readonly selectedIndex: number; readonly sessionId: string };
  };
}

/** The content of a file that the model knows, and the call it knows it from. */
export interface KnownFile {
  readonly hash: string;
  readonly callId: string;
  readonly written: boolean;
}

/** A file that a result of the open run has named, and that no `files_generated` has told of since. */
export interface SeenFile {
  readonly fileId: string;
  readonly provider: string;
  readonly firstTurn: number;
  lastTurn: number;
}

/** What a call came to that money was set aside for. */
export type SettledCall = Pick<Extract<DurableEvent, { type: 'budget_settled' }>, 'key' | 'cost' | 'basis'>;

export const newSessionSlices = (): SessionSlices => ({
  title: null,
  completed: false,
  compactedTo: null,
  slots: new Map(),
  reads: new Map(),
  notes: [],
  permissions: null,
  settled: null,
  tasks: null,
});

export const newRunSlices = (event: EventOf<'run_started'>): RunSlices => ({
  limits: newRunLimits(event),
  tooLong: null,
  stopsRefused: 0,
  checksFailed: 0,
  outputsFailed: 0,
});
