import type { JsonObject, TreadleEvent } from '@treadle/core';
import { isConversation } from '@treadle/core/messages';
import { PLAN_TOOL, planOf, TODO_TOOL, todoItems } from '@treadle/core/projections';

import { duration } from './figures.ts';
import type { CliIo, Printer } from '../io.ts';
import { plainLine, plainText } from '../asking/plain-text.ts';
import type { Style } from '../style.ts';
import { planLines } from './plan-lines.ts';
import { todoLines } from './todo-lines.ts';
import { createToolCalls } from './tool-calls.ts';

/** A run, or a log, as text for a person: append-only, line by line. */
export interface TextOutput {
  take(event: TreadleEvent): void;
  /** Ends an open line and leaves an empty one: something else follows. */
  breakOff(): void;
  /** A line about the transcript, set off from it. */
  remark(said: string): void;
}

export interface TextOutputOptions {
  readonly out: Printer;
  /** For what is not the transcript: delays, slow tools. */
  readonly note: (text: string) => void;
  readonly style: Style;
  /** A tool's name for people. */
  readonly label: (toolName: string) => string;
  /** Also print what the user said, marked. */
  readonly showPrompts: boolean;
  /** Absent for what has happened, and where nobody looks on. */
  readonly after?: CliIo['after'];
}

const textOf = (content: EventOf<'tool_update'>['content']): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');

const ENDED = { completed: 'completed', failed: 'failed', killed: 'been ended' } as const;

const BEGINS_AGAIN = '[cut off: the reply begins again]';

type Section = 'nothing' | 'text' | 'tools' | 'prompt' | 'remark';

type EventOf<Type extends TreadleEvent['type']> = Extract<TreadleEvent, { type: Type }>;

export function createTextOutput({ out, note, style, label, showPrompts, after }: TextOutputOptions): TextOutput {
  let section: Section = 'nothing';
  let openMessage: string | null = null;
  /** What was printed of it last. */
  let lastSaid = '';
  const argumentsOf = new Map<string, JsonObject>();
  const taskTools = new Map<string, string>();
  const calls = createToolCalls({ out, style, label, begin: () => begin('tools'), ...(after && { after }) });

  function begin(next: Section): void {
    out.endLine();
    if (section !== 'nothing' && !(section === 'tools' && next === 'tools')) out.print('\n');
    section = next;
  }

  function text(messageId: string, said: string): void {
    if (said === '') return;
    calls.flush();
    const goesOn = openMessage === messageId && section === 'text';
    if (!goesOn) begin('text');
    openMessage = messageId;
    out.print(plainText(said, goesOn ? lastSaid : ''));
    lastSaid = said;
  }

  function line(next: Section, said: string): void {
    calls.flush();
    begin(next);
    out.print(`${said}\n`);
  }

  function messageAdded({ message }: EventOf<'message_added'>): void {
    if (message.role === 'user' && showPrompts && isConversation(message)) {
      const said = message.content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
      line('prompt', plainText(said.trimEnd()).replaceAll(/^/gm, '> '));
    }
    if (message.role !== 'assistant') return;
    for (const block of message.content) {
      // What was streamed is printed already; a log has only whole messages.
      if (block.type === 'text' && openMessage !== message.id) text(`whole ${message.id}`, block.text);
      if (block.type === 'tool_call') argumentsOf.set(block.callId, block.arguments);
    }
    openMessage = null;
  }

  function callEnded(event: EventOf<'tool_ended' | 'tool_call_rejected'>): void {
    const { callId, toolName, content } = event;
    const args = argumentsOf.get(callId) ?? {};
    argumentsOf.delete(callId);
    const outcome =
      event.type === 'tool_ended'
        ? {
            isError: event.isError,
            durationMs: event.durationMs,
            ...(event.details === undefined ? {} : { details: event.details }),
          }
        : { isError: true, isRefused: event.reason === 'denied' || event.reason === 'hook' };
    calls.ended(callId, args, { toolName, content, ...outcome }, listOf(event));
  }

  /** The todo list or the plan that the call has written. */
  function listOf(event: EventOf<'tool_ended' | 'tool_call_rejected'>): string {
    if (event.type !== 'tool_ended') return '';
    if (event.toolName === TODO_TOOL) return todoLines(todoItems(event.details) ?? [], style);
    return event.toolName === PLAN_TOOL ? planLines(planOf(event.details), style) : '';
  }

  /** Of a task's beginning its call tells. */
  function taskUpdated({ taskId, status, task, message }: EventOf<'task_updated'>): void {
    if (task) taskTools.set(taskId, label(task.toolName));
    if (status === 'pending' || status === 'running') return;
    const why = message === undefined ? '' : `: ${plainLine(message, 200)}`;
    note(`${taskTools.get(taskId) ?? 'A task'} in the background has ${ENDED[status]} (${taskId})${why}`);
  }

  /** What is printed of the open message is void. */
  function cutOff(why: string): void {
    if (openMessage !== null && section === 'text') line('text', style.dim(why));
    openMessage = null;
  }

  function take(event: TreadleEvent): void {
    switch (event.type) {
      case 'message_started':
        if (openMessage === event.messageId) cutOff(BEGINS_AGAIN);
        return;
      case 'message_delta':
        if (event.kind === 'text') text(event.messageId, event.text);
        return;
      case 'message_added':
        messageAdded(event);
        return;
      case 'tool_started':
        argumentsOf.set(event.callId, event.arguments);
        calls.started(event.callId, event.toolName, event.arguments);
        return;
      case 'tool_update':
        calls.updated(event.callId, textOf(event.content));
        return;
      case 'run_paused':
        calls.pause();
        return;
      case 'tool_ended':
      case 'tool_call_rejected':
        callEnded(event);
        return;
      case 'message_discarded':
        cutOff(event.reason === 'attempt_failed' ? BEGINS_AGAIN : '[cut off]');
        return;
      case 'attempt_failed':
        // One that is given up ends the run, whose end says why.
        if (event.retry) {
          const why = plainLine(event.error.message, 300);
          note(`The model's call failed and is tried again in ${duration(event.retry.delayMs)}: ${why}`);
        }
        return;
      case 'tool_progress': {
        const said = event.text === undefined ? '' : `: ${plainLine(event.text, 100)}`;
        note(`${label(event.toolName)} is still running (${duration(event.elapsedMs)})${said}`);
        return;
      }
      case 'task_updated':
        taskUpdated(event);
        return;
      case 'warning':
        note(plainLine(event.message, 500));
        return;
      default:
    }
  }

  return {
    take,
    remark: (said) => line('remark', style.dim(said)),
    breakOff() {
      calls.flush();
      if (section !== 'nothing') begin('nothing');
    },
  };
}
