import { needsBlob } from '../../messages/needs-blob.ts';
import { NO_ANCHOR } from '../../messages/anchor.ts';
import type { Message } from '../../messages/message.ts';
import { addUsage, type Usage } from '../../model/usage.ts';
import type { RunState, SessionState } from '../state.ts';

/** A message joins the view. */
export function addToView(state: SessionState, message: Message): void {
  state.view.push(message);
  if (needsBlob(message)) state.needsBlobs = true;
}

/** A new conversation takes the place of the old one: nothing that was known of that one holds. */
export function replaceView(state: SessionState, messages: readonly Message[]): void {
  state.view = [...messages];
  if (messages.some(needsBlob)) state.needsBlobs = true;
  state.container = null;
  state.anchor = NO_ANCHOR;
  state.slots.clear();
  state.reads.clear();
  state.compactedTo = null;
}

/** Counts what a run has used. Its cost is unknown once any part of it is. */
export function spend(run: RunState, usage: Usage, cost: number | null): void {
  run.usage = addUsage(run.usage, usage);
  run.cost = run.cost === null || cost === null ? null : run.cost + cost;
}
