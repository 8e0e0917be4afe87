import type { TreadleEvent } from '../events/events.ts';
import { defineHook, type HookAnswer, type HookEvent, type HookInput, type Hook } from '../hooks/hook.ts';
import type { Message } from '../messages/message.ts';

/** A transcript to read in a review: one line per event, indented by run and turn, with what matters of each. */
export interface Golden {
  /** Subscribe this to a session. */
  readonly observe: (event: TreadleEvent) => void;
  /** A hook that writes its moment into the transcript, marked with `*`, before it answers. */
  hook<Event extends HookEvent>(
    event: Event,
    answer?: (input: HookInput<Event>) => HookAnswer,
    options?: { readonly matcher?: string },
  ): Hook;
  /** The lines so far. */
  text(): string;
}

export function golden(options: { readonly live?: boolean } = {}): Golden {
  const lines: string[] = [];
  let depth = 0;
  const write = (line: string): void => void lines.push(`${'  '.repeat(depth)}${line}`);
  return {
    observe(event) {
      if (!('seq' in event) && options.live !== true && event.type !== 'warning') return;
      if (HIDDEN.has(event.type)) return;
      if (CLOSES.has(event.type) && depth > 0) depth -= 1;
      write(lineOf(event));
      if (OPENS.has(event.type)) depth += 1;
      if (event.type === 'run_ended' || event.type === 'run_paused') depth = 0;
    },
    hook: (event, answer, hookOptions) =>
      defineHook(
        event,
        (input) => {
          const of = 'toolName' in input ? ` ${input.toolName}` : '';
          write(`* ${event}${of}`);
          return answer?.(input);
        },
        hookOptions,
      ),
    text: () => lines.join('\n'),
  };
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
      return `run_ended ${event.end}${event.message === undefined ? '' : ` ${JSON.stringify(event.message)}`}`;
    case 'run_paused':
      return `run_paused ${event.reason} ${event.pending.map(({ toolName }) => toolName).join(', ')}`;
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
