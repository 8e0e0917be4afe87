import { otherNamesOf } from '../../names/tool-names.ts';
import { ABOUT_TOOLS, EVENTS } from './events.ts';
import type { Hook, HookEvent, HookInput } from './hook.ts';

/** An agent's hooks, by event. */
export interface HookRegistry {
  /** True when a hook of this event is interested in this subject: a tool's name, a source, a trigger, a kind. */
  has(event: HookEvent, subject?: string): boolean;
  /** The hooks to call, in order. */
  matching(input: HookInput): readonly Hook[];
}

/** Puts hooks in order of events; null for none, so that an agent without hooks pays nothing for them. */
export function hookRegistry(hooks: readonly Hook[] | undefined): HookRegistry | null {
  if (hooks === undefined || hooks.length === 0) return null;
  const byEvent = Map.groupBy(hooks, ({ event }) => event);
  const of = (event: HookEvent, subject: string | undefined): readonly Hook[] =>
    (byEvent.get(event) ?? []).filter(
      ({ matcher }) =>
        matcher === null || subject === undefined || namesOf(event, subject).some((name) => matcher.test(name)),
    );
  return {
    has: (event, subject) => of(event, subject).length > 0,
    matching: (input) => of(input.event, subjectOf(input)),
  };
}

/** What a subject is called: a built-in tool may be meant by the name that Claude Code has for it. */
const namesOf = (event: HookEvent, subject: string): readonly string[] =>
  ABOUT_TOOLS.has(event) ? [subject, ...otherNamesOf(subject)] : [subject];

/** What a matcher is held against. */
function subjectOf(input: HookInput): string | undefined {
  const { subject } = EVENTS[input.event];
  const value: unknown = subject && Reflect.get(input, subject);
  return typeof value === 'string' ? value : undefined;
}
