import type { DurableEvent } from '../events/events.ts';
import { isJsonObject, type JsonValue } from '../json.ts';

/** The name of the tool whose calls carry a plan. */
export const PLAN_TOOL = 'update_plan';

/** One step of a plan. */
export interface PlanStep {
  /** What is to be done. */
  readonly description: string;
  readonly completed: boolean;
  /** What came of it; null while nothing has. */
  readonly result: string | null;
}

/** What is to be reached, and how. */
export interface Plan {
  readonly goal: string;
  readonly steps: readonly PlanStep[];
  /** The index of the step that is being done: the first open one; the number of steps when none is open. */
  readonly currentStep: number;
}

/** The plan in the arguments or the `details` of an `update_plan` call; null when there is none in them. */
export function planOf(value: JsonValue | undefined): Plan | null {
  if (!isJsonObject(value)) return null;
  const { goal, steps, currentStep } = value;
  if (typeof goal !== 'string' || !Array.isArray(steps)) return null;
  const checked = steps.map(stepOf);
  if (!checked.every((step) => step !== null)) return null;
  const firstOpen = checked.findIndex(({ completed }) => !completed);
  const fallback = firstOpen < 0 ? checked.length : firstOpen;
  const isPlace = typeof currentStep === 'number' && Number.isInteger(currentStep);
  const place = isPlace && currentStep >= 0 && currentStep <= checked.length ? currentStep : fallback;
  return { goal, steps: checked, currentStep: place };
}

function stepOf(value: JsonValue): PlanStep | null {
  if (!isJsonObject(value)) return null;
  const { description, completed = false, result = null } = value;
  if (typeof description !== 'string' || typeof completed !== 'boolean') return null;
  return result === null || typeof result === 'string' ? { description, completed, result } : null;
}

/** Folds a session's events into its plan. */
export interface PlanFold {
  /** True when the event changed the plan. */
  take(event: DurableEvent): boolean;
  /** Null before the first. */
  readonly plan: Plan | null;
}

/**
 * Starts the fold of a session's plan: what the last successful `update_plan` call said. Feed it the session's events from
 * the first on. An import of another conversation leaves no plan.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { planFold } from '@treadle/core/projections';
 * import { scriptedModel } from '@treadle/testing';
 * import { planTool } from '@treadle/tools';
 *
 * const steps = [{ description: 'Find the bug', completed: true, result: 'in line 3' }, { description: 'Fix it' }];
 * const model = scriptedModel([{ toolCalls: [{ name: 'update_plan', arguments: { goal: 'No bug', steps } }] }, 'Found.']);
 * const session = await createSession(defineAgent({ model, tools: [planTool()] }));
 *
 * const fold = planFold();
 * for await (const event of session.prompt('Fix it.')) {
 *   if ('seq' in event && fold.take(event)) console.log(fold.plan?.currentStep); // 1
 * }
 * ```
 */
export function planFold(): PlanFold {
  let current: Plan | null = null;
  return {
    get plan() {
      return current;
    },
    take(event) {
      if (event.type === 'input_received' && event.input.type === 'import') {
        const had = current !== null;
        current = null;
        return had;
      }
      if (event.type !== 'tool_ended' || event.toolName !== PLAN_TOOL || event.isError) return false;
      const found = planOf(event.details);
      if (found === null) return false;
      current = found;
      return true;
    },
  };
}
