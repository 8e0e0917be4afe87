import type { JsonObject } from '../../json.ts';
import type { UserContent } from '../../messages/content.ts';
import type { Message } from '../../messages/message.ts';
import type { Model, ToolDefinition } from '../../model/model.ts';

/** Whose run it is. What a memory keeps apart (agents, users, tenants), it keeps apart by these. */
export interface MemoryScope {
  readonly sessionId: string;
  readonly runId: string;
  readonly agentId: string;
  /** The run's metadata, as `prompt` was given it: the place for who the user is. */
  readonly metadata?: JsonObject;
}

/** By which means a memory may think for itself: the agent's model, and what it can call. */
export interface MemoryMeans {
  readonly model: Model;
  readonly tools: readonly ToolDefinition[];
}

/** What a memory is asked before a run. */
export interface MemoryQuery extends MemoryScope, Partial<MemoryMeans> {
  /** What the prompt says. */
  readonly query: string;
  /** The conversation until then, as models see it. */
  readonly messages: readonly Message[];
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What a memory is told after a run. */
export interface FinishedRun extends MemoryScope, Partial<MemoryMeans> {
  /** What the user said in the run: its prompt, and what was added while it ran. */
  readonly prompt: string;
  readonly answer: string;
  /** The run's conversation, its prompt first. */
  readonly messages: readonly Message[];
  /** The session's conversation, as models see it. */
  readonly view?: readonly Message[];
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly signal: AbortSignal;
}

/** What a memory is told around a compaction. */
export interface CompactionNews extends Omit<MemoryScope, 'runId'> {
  /** Absent when somebody asked for it while no run was open; so is `metadata` then. */
  readonly runId?: string;
  /** Before: what is there still. After: what is left. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}

/**
 * What is remembered from run to run. Everything in it may fail or hang: a run goes on without, and a warning says so.
 */
export interface Memory {
  /**
   * What is worth knowing for this prompt, the most telling first: texts, or blocks of content. It is put before the
   * prompt in what the model sees; the conversation doesn't have it. Asked once per run; the answer is in the log.
   */
  retrieve(query: MemoryQuery): Promise<readonly (string | UserContent)[]>;
  /**
   * Takes in a run that came to its answer. At least once: it may be told again of the same `runId`, after a crash or
   * because more came of the run, and what it is told last stands in the place of what it was told before.
   */
  update(run: FinishedRun): Promise<void>;
  /** Older messages are about to leave the view. */
  beforeCompaction?(news: CompactionNews): Promise<void>;
  /** They have left it. */
  afterCompaction?(news: CompactionNews): Promise<void>;
}

/** A memory, and how long a run waits for it. */
export interface MemoryOptions {
  readonly store: Memory;
  /** Milliseconds for one call of the memory. Default 10,000. */
  readonly timeoutMs?: number;
  /** How often `update` is tried, with growing pauses. Default 3. */
  readonly updateAttempts?: number;
  /** Characters of text that a retrieval may bring into the view; what is more is cut. Default 20,000. */
  readonly maxLength?: number;
}
