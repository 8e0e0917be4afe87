import { TreadleError } from '../../errors.ts';
import { matcherProblem, toolMatcherProblem } from '../../names/tool-names.ts';
import type { Hook, HookEvent } from './hook.ts';

/** The events of calls: their subject is a tool's name. */
export const ABOUT_TOOLS: ReadonlySet<HookEvent> = new Set([
  'before_tool',
  'after_tool',
  'tool_failed',
  'before_tool_update',
  'after_tool_update',
  'permission_request',
]);

const TRIGGERS = ['auto', 'manual', 'overflow'];

/** The subjects of other events of which there are no more than these. */
const SUBJECTS: Readonly<Partial<Record<HookEvent, readonly string[]>>> = {
  session_start: ['startup', 'resume', 'clear'],
  before_compaction: TRIGGERS,
  after_compaction: TRIGGERS,
  notification: ['approval', 'client_tools', 'sub_agent'],
};

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
  const subjects = SUBJECTS[event];
  return subjects ? matcherProblem(matcher, subjects) : null;
}
