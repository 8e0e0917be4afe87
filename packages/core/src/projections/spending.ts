import type { DurableEvent } from '../events/events.ts';
import { addUsage, asPart, UNKNOWN_USAGE, type Usage } from '../model/usage.ts';

/** What was used, and what it cost. */
export interface Spending {
  /** The sum of what is known. */
  readonly usage: Usage;
  /** US dollars; null when any part is unknown. */
  readonly cost: number | null;
}

/** Nothing was used yet. */
export const NOTHING_SPENT: Spending = Object.freeze({ usage: UNKNOWN_USAGE, cost: 0 });

/** Both together. */
export function addSpending(a: Spending, b: Spending): Spending {
  const cost = a.cost === null || b.cost === null ? null : a.cost + b.cost;
  return { usage: addUsage(a.usage, b.usage), cost };
}

/** What an event says was used; null when it says nothing of it. Adds up to what `run_ended` has. */
export function spendingOf(event: DurableEvent): Spending | null {
  switch (event.type) {
    case 'message_added': {
      const { message } = event;
      // It was paid for in the branch.
      if (event.fromBranch !== undefined) return null;
      return message.role === 'assistant' ? { usage: message.usage, cost: message.cost } : null;
    }
    case 'branches_ended': {
      const evaluation: Spending = { usage: asPart(event.evaluationUsage), cost: event.evaluationCost ?? 0 };
      return (event.branches ?? []).reduce((sum, branch) => addSpending(sum, branch), evaluation);
    }
    case 'attempt_failed':
    case 'compacted':
    case 'compaction_failed':
      return event.usage ? { usage: event.usage, cost: event.cost ?? null } : null;
    case 'input_received':
      return event.input.type === 'rename' && event.input.usage
        ? { usage: event.input.usage, cost: event.input.cost ?? null }
        : null;
    case 'message_discarded':
      // Nobody said what the call had cost until then; a failed attempt says it itself.
      return event.reason === 'interrupted' ? { usage: UNKNOWN_USAGE, cost: null } : null;
    default:
      return null;
  }
}
