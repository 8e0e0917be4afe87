import type { DurableEvent, PendingCall } from '@treadle/core';
import type { Plan, TodoItem } from '@treadle/core/projections';

import type { BackgroundTask, Queued, SentPrompt, ToolCell } from './blocks.ts';
import type { OpenReply } from './reply.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** A question that somebody is to answer. */
export type OpenQuestion = EventOf<'approval_requested'>;

/** What is known of a session, from its events alone. */
export interface ViewState {
  /** The run that is open: since when, and what it took so far. */
  readonly run: {
    readonly startedAt: number;
    readonly turns: number;
    readonly tokens: number;
    readonly cost: number | null;
    /** The model is asked, or its calls are run. */
    readonly isInTurn: boolean;
  } | null;
  /** Whether the open run waits for somebody. */
  readonly paused: readonly PendingCall[] | null;
  /** The oldest question of permission that is open. */
  readonly question: OpenQuestion | null;
  readonly cells: readonly ToolCell[];
  readonly reply: OpenReply | null;
  readonly todo: readonly TodoItem[];
  readonly plan: Plan | null;
  readonly queued: readonly Queued[];
  readonly sent: readonly SentPrompt[];
  /** Tasks in the background that are not over, by id. */
  readonly tasks: ReadonlyMap<string, BackgroundTask>;
  /** What goes on beside replies and tools, such as `compacting`. */
  readonly status: string | null;
  /** US dollars, as far as they are known. */
  readonly totalCost: number;
  /** Whether all of it is known. */
  readonly isCostKnown: boolean;
  /** Tokens of the last request, and the size of the model's window. */
  readonly context: { readonly used: number; readonly window: number | null };
  readonly model: string | null;
  readonly title: string | null;
  readonly mode: string | null;
  /** The last durable event. */
  readonly seq: number;
  /** When that was. */
  readonly at: number;
  /** The texts of the user, oldest first. */
  readonly prompts: readonly string[];
  /** All calls that there were, by number. */
  readonly calls: readonly ToolCell[];
  readonly lastReply: string;
  readonly driver: string | null;
}

/** The run has nothing to do but to wait for what runs in the background. */
export const isWaitingForTasks = ({ run, tasks }: ViewState): boolean => run?.isInTurn === false && tasks.size > 0;
