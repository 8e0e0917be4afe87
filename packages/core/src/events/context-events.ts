import type { Message } from '../messages/message.ts';
import type { Usage } from '../model/model.ts';
import type { InTurn } from './places.ts';

/** What made a compaction happen: the size of the view, somebody's wish, or a provider that found the request too long. */
export type CompactionTrigger = 'auto' | 'manual' | 'overflow';

/** A piece of a new view: messages of the view before, by their places there, or a message that is new or was shortened. */
export type ViewPart =
  | { readonly type: 'kept'; readonly from: number; readonly count: number }
  | { readonly type: 'message'; readonly message: Message };

/** Durable: what became of the view. */
export type CompactionEvent =
  /** The view was replaced by a smaller one. The history is what it was. */
  | {
      readonly type: 'compacted';
      readonly at: number;
      /** Absent, with `turnIndex`, when no run was open. */
      readonly runId?: string;
      readonly turnIndex?: number;
      readonly trigger: CompactionTrigger;
      /** The strategies that did it, and their phases in order. */
      readonly strategy: string;
      readonly phases: readonly string[];
      /** The new view, in order. */
      readonly view: readonly ViewPart[];
      /** Tokens of a request with the view, system prompt and tools included. */
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      /** What writing summaries took. Absent when no model was asked. */
      readonly usage?: Usage;
      readonly cost?: number | null;
      /** The input that asked for it. */
      readonly inputSeq?: number;
    }
  /** The view stays as it is: it could not be made smaller. */
  | {
      readonly type: 'compaction_failed';
      readonly at: number;
      readonly runId?: string;
      readonly turnIndex?: number;
      readonly trigger: CompactionTrigger;
      /** `interrupted`: nobody waits for it any more; the run ends for its own reason. */
      readonly reason: 'nothing_to_remove' | 'interrupted';
      readonly message: string;
      readonly usage?: Usage;
      readonly cost?: number | null;
      readonly inputSeq?: number;
    };

/** What a model call that had money set aside for it cost in the end. */
export type BudgetSettled = InTurn & {
  readonly type: 'budget_settled';
  readonly at: number;
  /** The reservation: the `key` of the decision that made it. */
  readonly key: string;
  /** US dollars. */
  readonly reserved: number;
  readonly cost: number;
  /**
   * Where the cost is from: the usage the provider reported; what was streamed before it was stopped; all that was
   * reserved, for nobody knows; or nothing, for the call was not made or the provider turned it away.
   */
  readonly basis: 'usage' | 'streamed' | 'worst_case' | 'none';
};
