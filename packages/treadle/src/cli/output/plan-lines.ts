import type { Plan } from '@treadle/core/projections';

import { plainLine } from '../asking/plain-text.ts';
import type { Style } from '../style.ts';

/** The plan: its goal, then a line per step with what came of it. */
export function planLines(plan: Plan | null, style: Style): string {
  if (plan === null) return '';
  const steps = plan.steps.map(({ description, completed, result }, index) => {
    const isCurrent = index === plan.currentStep && !completed;
    const mark = completed ? '[x]' : isCurrent ? '[>]' : '[ ]';
    const came = result === null ? '' : `: ${result}`;
    const line = `  ${mark} ${plainLine(`${description}${came}`, 120)}`;
    return isCurrent ? line : style.dim(line);
  });
  return [`  ${plainLine(plan.goal, 120)}`, ...steps].map((line) => `${line}\n`).join('');
}
