import type { HookEvent } from './hook.ts';

/** What an event is to its hooks. */
interface EventFacts {
  /** The field that a matcher is held against. Absent: there is nothing to match. */
  readonly subject?: 'toolName' | 'source' | 'reason' | 'trigger' | 'kind' | 'agentType';
  /** All that the subject can be, where that is known beforehand. */
  readonly subjects?: readonly string[];
  /** True for a guard: a hook that crashes, hangs or answers nonsense has said no. */
  readonly guards?: true;
}

const TRIGGERS = ['auto', 'manual', 'overflow'];

export const EVENTS: Readonly<Record<HookEvent, EventFacts>> = {
  session_start: { subject: 'source', subjects: ['startup', 'resume', 'clear'] },
  session_end: { subject: 'reason' },
  user_prompt_submit: { guards: true },
  before_run: { guards: true },
  after_run: {},
  before_turn: { guards: true },
  after_turn: {},
  before_tool: { subject: 'toolName', guards: true },
  after_tool: { subject: 'toolName' },
  tool_failed: { subject: 'toolName' },
  before_tool_update: { subject: 'toolName', guards: true },
  after_tool_update: { subject: 'toolName' },
  model_error: {},
  permission_request: { subject: 'toolName', guards: true },
  subagent_start: { subject: 'agentType', guards: true },
  subagent_stop: { subject: 'agentType' },
  before_compaction: { subject: 'trigger', subjects: TRIGGERS, guards: true },
  after_compaction: { subject: 'trigger', subjects: TRIGGERS },
  notification: { subject: 'kind', subjects: ['approval', 'client_tools', 'sub_agent'] },
  stop: {},
};

const NAMES = Object.keys(EVENTS) as readonly HookEvent[];

/** The events of calls: their subject is a tool's name. */
export const ABOUT_TOOLS: ReadonlySet<HookEvent> = new Set(
  NAMES.filter((event) => EVENTS[event].subject === 'toolName'),
);
