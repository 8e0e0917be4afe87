import type { CompactionTrigger, DecisionKind } from '../../events/events.ts';
import type { HookEvent, HookInput } from '../features.ts';
import type { JsonValue } from '../../json.ts';

/** What every question has: where its answer is kept. */
interface Asked {
  /** The same question has the same key, in any process. */
  readonly key: string;
  /** Absent when it belongs to the session. */
  readonly runId?: string;
  /** Present when the answer is of no use after this turn. */
  readonly turnIndex?: number;
  readonly callId?: string;
}

/** Something to be decided outside the log, once. Plain data: ids and keys, from which the one who asks finds the rest. */
export type Question =
  | HookQuestion
  | MemoryQuestion
  | PermissionQuestion
  | FilterQuestion
  | AnswerQuestion
  | ContextQuestion
  | BudgetQuestion
  | HandoffQuestion
  | RoutingQuestion;

/** Whether a call may run, as rules, the mode, a callback or a person have it. */
type PermissionQuestion = Asked & { readonly type: 'permission'; readonly callId: string };

type MemoryQuestion = Asked & { readonly runId: string } & (
    | { readonly type: 'memory'; readonly inputSeq: number }
    /** Not to be found out but to be told: the answer says whether it was. */
    | { readonly type: 'memory_update' }
  );

type HookQuestion = Asked & {
  readonly type: 'hook';
  readonly event: Extract<
    HookEvent,
    | 'session_start'
    | 'user_prompt_submit'
    | 'before_run'
    | 'before_turn'
    | 'before_tool'
    | 'after_tool'
    | 'tool_failed'
    | 'stop'
    | 'before_compaction'
  >;
  /** The input that wants a run, before there is one. */
  readonly inputSeq?: number;
  /** What makes a compaction happen. */
  readonly trigger?: CompactionTrigger;
  /** How the session came to be open. */
  readonly source?: SessionSource;
};

/** Whether an input may come in. */
type FilterQuestion = Asked & { readonly type: 'filter'; readonly inputSeq: number };

/** Whether the answer of a run that would end will do: its form, or what a check of the user's says. */
type AnswerQuestion = Asked & { readonly type: 'output' | 'check' };

/** What is to be known before a turn. */
type ContextQuestion = Asked & { readonly type: 'turn_context'; readonly runId: string; readonly turnIndex: number };

/** Whether the open call can be paid for: money is set aside under the key. */
type BudgetQuestion = Asked & { readonly type: 'budget'; readonly runId: string; readonly turnIndex: number };

/** Which model the next turn asks. */
type RoutingQuestion = Asked & { readonly type: 'routing'; readonly runId: string; readonly turnIndex: number };

/** What the agent that takes over is shown of the conversation. */
type HandoffQuestion = Asked & { readonly type: 'handoff'; readonly callId: string };

export type SessionSource = HookInput<'session_start'>['source'];

/** The kind under which an answer is logged. */
export const KIND_OF: Readonly<Record<Question['type'], DecisionKind>> = {
  hook: 'hook',
  permission: 'permission',
  memory: 'memory',
  memory_update: 'memory',
  filter: 'filter',
  output: 'check',
  check: 'check',
  turn_context: 'context',
  budget: 'budget',
  handoff: 'routing',
  routing: 'routing',
};

export type QuestionOf<Type extends Question['type']> = Extract<Question, { readonly type: Type }>;

/** Decisions are plain data; an interface just doesn't say so. */
export const asDecision = (decision: object): JsonValue => decision as unknown as JsonValue;
