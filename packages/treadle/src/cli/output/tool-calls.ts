import type { JsonObject } from '@treadle/core';

import { plainLine } from '../asking/plain-text.ts';
import type { CliIo, Printer } from '../io.ts';
import type { Style } from '../style.ts';
import { counted } from './figures.ts';
import { newLines } from './live-lines.ts';
import { toolEnd, toolHead, type CallEnd } from './tool-line.ts';

/** Milliseconds after which a call that runs beside others gets a line of its own before its end. */
const SOON_MS = 150;

/**
 * The calls of a reply, a line each in the order of the calls. A line is begun when its call starts and completed when it
 * ends. On a terminal, calls that run beside each other for longer are all begun, and the lines that a command writes
 * follow its own; there a line that could not be completed is written again, whole.
 */
export interface ToolCalls {
  started(callId: string, toolName: string, args: JsonObject): void;
  /** What the running call has written of late. */
  updated(callId: string, latest: string): void;
  /** @param more lines below the call's own */
  ended(callId: string, args: JsonObject, end: CallEnd, more: string): void;
  /** Writes all that is known: something else follows. */
  flush(): void;
  /** The same, and ends the line: somebody is asked something. */
  pause(): void;
}

interface Call {
  readonly head: string;
  isShown: boolean;
  latest: string;
  /** What completes it, once it has ended. */
  end: { readonly text: string; readonly more: string } | null;
}

export interface ToolCallsOptions {
  readonly out: Printer;
  readonly style: Style;
  readonly label: (toolName: string) => string;
  /** Ends the section before, if one is open. */
  readonly begin: () => void;
  /** The timer of a terminal; absent where lines are only for later. */
  readonly after?: CliIo['after'];
}

export function createToolCalls({ out, style, label, begin, after }: ToolCallsOptions): ToolCalls {
  const calls = new Map<string, Call>();
  /** The call whose line was printed last, and may still be open. */
  let last: string | null = null;
  let cancel: (() => void) | null = null;

  function show(callId: string, call: Call): void {
    begin();
    out.print(call.head);
    call.isShown = true;
    last = callId;
  }

  function complete(callId: string, { head, end }: Call): void {
    if (end === null) return;
    if (last !== callId || !out.isLineOpen) {
      begin();
      out.print(head);
    }
    out.print(`${end.text}\n${end.more}`);
    last = null;
    calls.delete(callId);
  }

  /** Writes what can be written in order: the first that runs holds up the others. */
  function settle(): void {
    for (const [callId, call] of calls) {
      if (call.end === null) {
        if (!call.isShown) show(callId, call);
        break;
      }
      complete(callId, call);
    }
    if (calls.size < 2) {
      cancel?.();
      cancel = null;
    } else if (after) cancel ??= after(SOON_MS, flush);
  }

  function flush(): void {
    cancel?.();
    cancel = null;
    for (const [callId, call] of calls) {
      if (call.end !== null) complete(callId, call);
      else if (!call.isShown) show(callId, call);
    }
  }

  function add(callId: string, toolName: string, args: JsonObject): Call {
    const call: Call = { head: toolHead(label(toolName), args, style), isShown: false, latest: '', end: null };
    calls.set(callId, call);
    return call;
  }

  return {
    flush,
    pause() {
      flush();
      if (last !== null) out.endLine();
      last = null;
    },
    started(callId, toolName, args) {
      if (!calls.has(callId)) add(callId, toolName, args);
      settle();
    },
    updated(callId, latest) {
      const call = calls.get(callId);
      if (!after || !call || call.end) return;
      const { lines, skipped } = newLines(call.latest, latest);
      call.latest = latest;
      if (lines.length === 0) return;
      flush();
      if (last !== callId) show(callId, call);
      out.endLine();
      const shown = [...(skipped > 0 ? [`… ${counted(skipped, 'more line')}`] : []), ...lines];
      for (const line of shown) out.print(`${style.dim(`  │ ${plainLine(line, 200)}`)}\n`);
    },
    ended(callId, args, end, more) {
      const call = calls.get(callId) ?? add(callId, end.toolName, args);
      call.end = { text: toolEnd(end, style), more };
      settle();
    },
  };
}
