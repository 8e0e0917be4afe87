import type { HookEvent } from '@treadle/core';

/** The names that settings and shell commands know events by: those of the Claude Agent SDK, and ours where it has none. */
const NAMES: Readonly<Record<HookEvent, string>> = {
  before_tool: 'PreToolUse',
  after_tool: 'PostToolUse',
  tool_failed: 'PostToolUseFailure',
  user_prompt_submit: 'UserPromptSubmit',
  session_start: 'SessionStart',
  session_end: 'SessionEnd',
  stop: 'Stop',
  subagent_start: 'SubagentStart',
  subagent_stop: 'SubagentStop',
  before_compaction: 'PreCompact',
  notification: 'Notification',
  permission_request: 'PermissionRequest',
  before_run: 'before_run',
  after_run: 'after_run',
  before_turn: 'before_turn',
  after_turn: 'after_turn',
  before_tool_update: 'before_tool_update',
  after_tool_update: 'after_tool_update',
  model_error: 'model_error',
  after_compaction: 'after_compaction',
};

/** Every name a hook's event may have in settings. */
export const eventNames: readonly string[] = Object.values(NAMES);

/** The moment of hooks that has this name, in the spelling of the Claude Agent SDK or in ours; undefined for none. */
export const hookEventOf = (name: string): HookEvent | undefined =>
  (Object.keys(NAMES) as HookEvent[]).find((event) => event === name || NAMES[event] === name);

/** The name a shell command is told. */
export const commandEventOf = (event: HookEvent): string => NAMES[event];

/**
 * What the Claude Agent SDK calls a moment of hooks; our name where it has none.
 *
 * @example
 * ```ts
 * import { hookEventName } from '@treadle/tools';
 *
 * console.log(hookEventName('before_tool'), hookEventName('before_run')); // PreToolUse before_run
 * ```
 */
export const hookEventName = (event: string): string => {
  const known = hookEventOf(event);
  return known === undefined ? event : commandEventOf(known);
};
