import type { HookEvent } from '@treadle/core';

/** The events that settings and shell commands know by other names than ours. */
const COMMAND_EVENTS: readonly (readonly [string, HookEvent])[] = [
  ['PreToolUse', 'before_tool'],
  ['PostToolUse', 'after_tool'],
  ['PostToolUseFailure', 'tool_failed'],
  ['UserPromptSubmit', 'user_prompt_submit'],
  ['SessionStart', 'session_start'],
  ['SessionEnd', 'session_end'],
  ['Stop', 'stop'],
  ['SubagentStart', 'subagent_start'],
  ['SubagentStop', 'subagent_stop'],
  ['PreCompact', 'before_compaction'],
  ['Notification', 'notification'],
  ['PermissionRequest', 'permission_request'],
];

/** Ours that have no other name. */
const OWN_EVENTS: readonly HookEvent[] = [
  'before_run',
  'after_run',
  'before_turn',
  'after_turn',
  'before_tool_update',
  'after_tool_update',
  'model_error',
  'after_compaction',
];

const BY_NAME: ReadonlyMap<string, HookEvent> = new Map([
  ...COMMAND_EVENTS,
  ...COMMAND_EVENTS.map(([, event]) => [event, event] as const),
  ...OWN_EVENTS.map((event) => [event, event] as const),
]);

const NAMES: ReadonlyMap<HookEvent, string> = new Map(COMMAND_EVENTS.map(([name, event]) => [event, name]));

/** Every name a hook's event may have in settings. */
export const eventNames: readonly string[] = [...COMMAND_EVENTS.map(([name]) => name), ...OWN_EVENTS];

/** The event of that name, in the SDK's spelling or in ours. */
export const eventOf = (name: string): HookEvent | undefined => BY_NAME.get(name);

/** The name a shell command is told. */
export const commandEventOf = (event: HookEvent): string => NAMES.get(event) ?? event;
