import type { DurableEvent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { ToolCallBlock } from '@treadle/core/messages';

import type { Block, ToolCell } from './blocks.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** The calls of a reply, in its order: one that ends before those above it waits for them. */
export interface Cells {
  call(block: ToolCallBlock): void;
  started(event: EventOf<'tool_started'>): void;
  ended(event: EventOf<'tool_ended'>): void;
  rejected(event: EventOf<'tool_call_rejected'>): void;
  asked(event: EventOf<'approval_requested'>): void;
  answered(callId: string, words: string): void;
  /** What was decided about a call without a person. */
  decided(event: EventOf<'decision_made'>): void;
  isTask(callId: string): void;
  update(callId: string, output: string): void;
  progress(callId: string, text: string): void;
  /** What a call in the background has come to. Its number, or null for a call that is not in this part of the log. */
  came(callId: string, content: ToolCell['content']): number | null;
  /** The run is over: what has not ended never will. */
  cutOff(): void;
  /** Hands over the cells that are finished, in order. */
  flush(): void;
  /** Those that are not. */
  open(): readonly ToolCell[];
  readonly all: readonly ToolCell[];
}

const OPEN: ReadonlySet<ToolCell['state']> = new Set(['waiting', 'asked', 'running']);

export function createCells(done: Block[]): Cells {
  const all: ToolCell[] = [];
  let open: ToolCell[] = [];

  function find(event: Pick<ToolCell, 'callId' | 'toolName'> & Partial<Pick<ToolCell, 'arguments'>>): ToolCell {
    const known = open.find(({ callId }) => callId === event.callId);
    if (known) return known;
    // The reply that made the call is not in this part of the log.
    const { callId, toolName } = event;
    const cell: ToolCell = {
      callId,
      toolName,
      arguments: event.arguments ?? {},
      state: 'waiting',
      content: [],
      output: '',
      number: all.length + 1,
    };
    all.push(cell);
    open.push(cell);
    return cell;
  }

  const known = (callId: string): ToolCell | undefined => open.find((cell) => cell.callId === callId);

  return {
    all,
    open: () => open,
    call: ({ callId, name, arguments: args }) => void find({ callId, toolName: name, arguments: args }),
    started(event) {
      const cell = find(event);
      cell.state = 'running';
      cell.startedAt = event.at;
    },
    ended(event) {
      const { isError, content, details, durationMs } = event;
      Object.assign(find(event), { state: 'ended', isError, content, details, durationMs, output: '' });
    },
    rejected(event) {
      if (event.callId === '') return;
      const state = event.reason === 'denied' || event.reason === 'hook' ? 'refused' : 'ended';
      Object.assign(find(event), { state, isError: true, content: event.content });
    },
    asked(event) {
      find(event).state = 'asked';
    },
    answered(callId, words) {
      const cell = known(callId);
      if (cell) Object.assign(cell, { answer: words, state: 'waiting' });
    },
    decided({ callId = '', decision }) {
      const cell = known(callId);
      if (!cell || !isJsonObject(decision) || decision['outcome'] !== 'deny') return;
      if (typeof decision['reason'] === 'string') cell.why = decision['reason'];
    },
    isTask(callId) {
      const cell = known(callId);
      if (cell) cell.isTask = true;
    },
    update(callId, output) {
      const cell = known(callId);
      if (cell) cell.output = output;
    },
    progress(callId, text) {
      const cell = known(callId);
      if (cell) cell.progress = text;
    },
    came(callId, content) {
      const cell = all.find((one) => one.callId === callId);
      if (cell) cell.content = content;
      return cell?.number ?? null;
    },
    cutOff() {
      for (const cell of open) if (OPEN.has(cell.state)) cell.state = 'cut off';
    },
    flush() {
      const end = open.findIndex(({ state }) => OPEN.has(state));
      const finished = open.slice(0, end === -1 ? open.length : end);
      open = open.slice(finished.length);
      done.push(...finished.map((cell): Block => ({ type: 'tool', cell })));
    },
  };
}
