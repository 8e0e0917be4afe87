import { defineTool, type Tool } from '@treadle/core';
import { PLAN_TOOL, planOf, type Plan } from '@treadle/core/projections';

/**
 * The tool `update_plan`: the model writes down its goal, the steps to it, and what came of each. Each call replaces the
 * whole plan. It is kept nowhere but in the log: `planFold` of core reads it from there for a user interface. Result
 * `details`: `{ goal, steps, currentStep }`.
 */
export function planTool(): Tool {
  return defineTool({
    name: PLAN_TOOL,
    label: 'Plan',
    description:
      'Writes down your plan, which the user sees: the goal, the steps to it, and what came of each step. Use it for work ' +
      'whose steps build on each other, and give the whole plan each time.',
    inputSchema: {
      type: 'object',
      properties: {
        goal: { type: 'string', minLength: 1, maxLength: 1000, description: 'What is to be reached.' },
        steps: {
          type: 'array',
          maxItems: 100,
          description: 'In the order in which they are to be done.',
          items: {
            type: 'object',
            properties: {
              description: { type: 'string', minLength: 1, maxLength: 500, description: 'What to do.' },
              completed: { type: 'boolean', description: 'Default false.' },
              result: { type: 'string', maxLength: 2000, description: 'What came of it.' },
            },
            required: ['description'],
            additionalProperties: false,
          },
        },
        currentStep: {
          type: 'integer',
          minimum: 0,
          description: 'The index of the step you are at, from 0. Default: the first that is not completed.',
        },
      },
      required: ['goal', 'steps'],
      additionalProperties: false,
    },
    readOnly: true,
    // Two plans of one turn must not change places.
    execution: 'sequential',
    execute(args) {
      const plan = planOf(args);
      if (plan === null) return { content: 'This is no plan: it needs a goal and steps.', isError: true };
      return { content: noted(plan), details: { ...plan, steps: plan.steps.map((step) => ({ ...step })) } };
    },
  });
}

function noted({ steps, currentStep }: Plan): string {
  const done = steps.filter(({ completed }) => completed).length;
  const next = steps[currentStep];
  return `Noted: ${done} of ${steps.length} steps done${next ? `; now: ${next.description}` : ''}.`;
}
