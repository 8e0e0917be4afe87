import { defineHook, type Hook, type HookEvent, type HookInput, type Message, type TreadleEvent } from '@treadle/core';
import type { HookAnswer } from '@treadle/core/features';

/** A transcript to read in a review: one line per event, indented by run and turn, with what matters of each. */
export interface Golden {
  /** Subscribe this to a session. What its sub-agents do is shown too when that is asked for, behind the agent's id. */
  readonly observe: (event: TreadleEvent) => void;
  /** As `observe`, for what has a transcript within this one: its lines stand behind the name. */
  readonly observeAs: (name: string) => (event: TreadleEvent) => void;
  /** Writes a line of the test's own, such as what somebody saw from outside. */
  readonly note: (line: string) => void;
  /** A hook that writes its moment into the transcript, marked with `*`, before it answers. */
  hook<Event extends HookEvent>(
    event: Event,
    answer?: (input: HookInput<Event>) => HookAnswer,
    options?: { readonly matcher?: string },
  ): Hook;
  /** The lines so far. */
  text(): string;
}

/** Options of {@link golden}. */
export interface GoldenOptions {
  /** Show what is live too. Default false. */
  readonly live?: boolean;
  /** Show what sub-agents do. Default false. */
  readonly children?: boolean;
}

/**
 * Writes what happens in a session as lines of text, for tests that compare whole runs.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { golden, scriptedModel } from '@treadle/testing';
 *
 * const transcript = golden();
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }));
 * session.subscribe(transcript.observe);
 * await session.prompt('Hi.').result;
 * transcript.text(); // a line for each event
 * ```
 */
export function golden(options: GoldenOptions = {}): Golden {
  const lines: string[] = [];
  const children = new Map<string, (event: TreadleEvent) => void>();
  const own = writer(lines, '', options);
  const takeChild = (sessionId: string, event: TreadleEvent): void => {
    if (event.type === 'run_started') children.set(sessionId, writer(lines, event.agentId, options).take);
    children.get(sessionId)?.(event);
  };
  return {
    observe(event) {
      if (event.type !== 'child_event') own.take(event);
      else if (options.children === true) takeChild(event.sessionId, event.event);
    },
    observeAs: (name) => writer(lines, name, options).take,
    note: (line) => own.write(`- ${line}`),
    hook: (event, answer, hookOptions) =>
      defineHook(
        event,
        (input) => {
          const of = 'toolName' in input ? ` ${input.toolName}` : '';
          own.write(`* ${event}${of}`);
          return answer?.(input);
        },
        hookOptions,
      ),
    text: () => lines.join('\n'),
  };
}

/** Writes the events of one session, behind its name. */
function writer(lines: string[], name: string, { live = false }: GoldenOptions) {
  let depth = 0;
  const mark = name === '' ? '' : `${name}| `;
  const write = (line: string): void => void lines.push(`${mark}${'  '.repeat(depth)}${line}`);
  const take = (event: TreadleEvent): void => {
    if (!('seq' in event) && !live && event.type !== 'warning') return;
    if (HIDDEN.has(event.type)) return;
    if (CLOSES.has(event.type) && depth > 0) depth -= 1;
    write(lineOf(event));
    if (OPENS.has(event.type)) depth += 1;
    if (event.type === 'run_ended' || event.type === 'run_paused') depth = 0;
  };
  return { take, write };
}

const HIDDEN: ReadonlySet<string> = new Set(['session_created', 'drive_started', 'input_received']);
const OPENS: ReadonlySet<string> = new Set(['run_started', 'turn_started']);
const CLOSES: ReadonlySet<string> = new Set(['turn_ended', 'run_ended']);

function lineOf(event: TreadleEvent): string {
  switch (event.type) {
    case 'message_added':
      return `${messageLine(event.message)}${event.inView ? '' : ' (not in the view)'}`;
    case 'message_delta':
      return `message_delta ${event.kind} ${JSON.stringify(event.text)}`;
    case 'tool_started':
      return `tool_started ${event.toolName} ${JSON.stringify(event.arguments)}`;
    case 'tool_ended':
      return `tool_ended ${event.toolName}${event.isError ? ' (error)' : ''} ${textOf(event.content)}`;
    case 'tool_update':
      return `tool_update ${event.toolName} ${textOf(event.content)}`;
    case 'tool_call_rejected':
      return `tool_call_rejected ${event.toolName} (${event.reason}) ${textOf(event.content)}`;
    case 'decision_made':
      return `decision_made ${event.kind} ${event.key.replace(/:.*/s, '')} ${JSON.stringify(event.decision)}`;
    case 'input_rejected':
      return `input_rejected ${JSON.stringify(event.reason)}`;
    case 'attempt_failed':
      return `attempt_failed ${event.error.kind}${event.retry ? ', will retry' : ''}`;
    case 'turn_started':
      return `turn_started ${event.turnIndex} by ${event.triggeredBy}`;
    case 'run_ended':
      return `run_ended ${event.status}${event.handoff === undefined ? '' : `, hands over to ${event.handoff.agentId}`}${event.message === undefined ? '' : ` ${JSON.stringify(event.message)}`}`;
    case 'run_paused':
      return `run_paused ${event.reason} ${event.pending.map(({ toolName }) => toolName).join(', ')}`;
    case 'tool_paused':
      return `tool_paused ${event.toolName}, for ${event.pending.map(({ toolName }) => toolName).join(', ')}`;
    case 'branches_started':
      return `branches_started ${event.branches.map(({ configId }) => configId).join(', ')}`;
    case 'branches_ended':
      return `branches_ended ${event.selectedIndex} is selected`;
    case 'approval_requested':
      return `approval_requested ${event.toolName} ${JSON.stringify(event.arguments)}`;
    case 'approval_answered':
      return `approval_answered ${event.decision}`;
    case 'warning':
      return `warning ${event.code} ${JSON.stringify(event.message)}`;
    case 'compacted': {
      const { trigger, strategy, phases, messagesBefore, messagesAfter } = event;
      return `compacted (${trigger}) by ${strategy}: ${phases.join(', ')}; ${messagesBefore} messages to ${messagesAfter}`;
    }
    case 'compaction_failed':
      return `compaction_failed (${event.trigger}) ${event.reason} ${JSON.stringify(event.message)}`;
    case 'task_updated':
      return `task_updated ${event.taskId} ${event.status}${event.message === undefined ? '' : ` ${JSON.stringify(event.message)}`}`;
    case 'task_progress':
      return `task_progress ${event.taskId} ${textOf(event.content)}`;
    case 'status':
      return `status ${event.status}`;
    default:
      return event.type;
  }
}

function messageLine(message: Message): string {
  if (message.role === 'extension') return `message_added extension ${message.kind}`;
  if (message.role === 'tool') return `message_added tool ${textOf(message.content)}`;
  const said = message.content.map((block) => {
    if (block.type === 'text') return JSON.stringify(block.text);
    return block.type === 'tool_call' ? `calls ${block.name}` : block.type;
  });
  const from = message.role === 'user' ? `user (${message.origin})` : `assistant (${message.stopReason})`;
  return `message_added ${from} ${said.join(', ')}`;
}

const textOf = (content: readonly { readonly type: string; readonly text?: string }[]): string =>
  content.map((block) => (block.type === 'text' ? JSON.stringify(block.text) : block.type)).join(', ');
