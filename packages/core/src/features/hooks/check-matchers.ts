import { TreadleError } from '../../errors.ts';
import { matcherProblem, toolMatcherProblem } from '../../names/tool-names.ts';
import { ABOUT_TOOLS, EVENTS } from './events.ts';
import type { Hook, HookEvent } from './hook.ts';

/**
 * Refuses hooks that would never be called.
 *
 * @param tools names of the tools there are, besides the built-in ones
 * @throws TreadleError `invalid_definition` for a matcher that matches nothing.
 */
export function checkMatchers(
  hooks: readonly Hook[] | undefined,
  tools: Iterable<string>,
): readonly Hook[] | undefined {
  for (const { event, name, matcher } of hooks ?? []) {
    if (matcher === null) continue;
    const problem = problemOf(event, matcher.source.replace(/^\^\(\?:(.*)\)\$$/s, '$1'), tools);
    if (problem !== null) throw new TreadleError('invalid_definition', `${name}: the matcher ${problem}`);
  }
  return hooks;
}

function problemOf(event: HookEvent, matcher: string, tools: Iterable<string>): string | null {
  if (ABOUT_TOOLS.has(event)) return toolMatcherProblem(matcher, tools);
  const { subjects } = EVENTS[event];
  return subjects ? matcherProblem(matcher, subjects) : null;
}
