import type { CompactionTrigger, DurableEventBody } from '../events/events.ts';
import type { Question } from './services/question.ts';
import type { SeenFile, TaskState } from './folds.ts';
import type { CallState } from './state.ts';

/** What happens next. `record` and `wait` have no effects outside the log. */
export type Step =
  /** Write these events: all or none, and only if no input came in meanwhile. */
  | { readonly type: 'record'; readonly events: readonly DurableEventBody[] }
  | {
      readonly type: 'call_model';
      readonly turnIndex: number;
      readonly attempt: number;
      readonly modelIndex: number;
      readonly modelAttempt: number;
      /** What there is money for, when that is limited. */
      readonly money?: { readonly maxTokens: number; readonly stopAfter?: number };
    }
  /** Wait until this time, in milliseconds since 1970, or with null until something comes in, unless the run is interrupted. */
  | { readonly type: 'wait'; readonly until: number | null }
  /** Fetch files that the provider made, before the run ends. */
  | { readonly type: 'keep_files'; readonly files: readonly SeenFile[] }
  /** Ask these, all at once; the answers go into the log, and none of them is asked again. */
  | { readonly type: 'decide'; readonly questions: readonly Question[] }
  /** Make the view smaller. */
  | {
      readonly type: 'compact';
      readonly trigger: CompactionTrigger;
      readonly turnIndex?: number;
      /** The input that asks for it. */
      readonly inputSeq?: number;
      /** What summaries are to pay attention to. */
      readonly instructions: readonly string[];
    }
  | { readonly type: 'run_tools'; readonly turnIndex: number; readonly calls: readonly CallState[] }
  /** Begin background tasks that wait. */
  | { readonly type: 'start_tasks'; readonly tasks: readonly TaskState[] }
  /** End background tasks that are running. */
  | { readonly type: 'stop_tasks'; readonly tasks: readonly TaskState[] }
  /** End what these calls have started and nobody works on, before the run ends. */
  | {
      readonly type: 'stop_children';
      readonly turnIndex: number;
      readonly calls: readonly CallState[];
      readonly reason: string;
    }
  /** Run the branches of the open run, and select one. */
  | { readonly type: 'run_branches' }
  /** Take over the history and the files of the branch that was selected. */
  | { readonly type: 'adopt_branch'; readonly sessionId: string; readonly selectedIndex: number }
  /** Nothing to do until someone posts an input: the drive lets go. */
  | { readonly type: 'idle' };

/** Writes these events. */
export const record = (events: readonly DurableEventBody[]): Step => ({ type: 'record', events });
