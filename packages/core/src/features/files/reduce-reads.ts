import { viewOfParts } from '../../view-parts.ts';
import type { ViewPart } from '../../events/events.ts';
import type { SessionState, TurnState } from '../../kernel/state.ts';
import type { Message } from '../../messages/message.ts';

/** The turn's results enter the view, and with them what they tell of files: of two calls, the later one counts. */
export function noteReads(known: SessionState['reads'], { calls }: TurnState): void {
  for (const { callId, reads = [] } of calls) {
    for (const { path, hash, written = false } of reads) known.set(path, { hash, callId, written });
  }
}

/** Forgets the files whose results left the view or were shortened. `before` is the view that `view` was made of. */
export function forgetReads({ reads }: SessionState, before: readonly Message[], view: readonly ViewPart[]): void {
  if (reads.size === 0) return;
  const kept = viewOfParts(
    before,
    view.filter(({ type }) => type === 'kept'),
  );
  const results = new Set(kept.map((message) => (message.role === 'tool' ? message.callId : null)));
  const blocks = kept.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  const calls = new Set(blocks.map((block) => (block.type === 'tool_call' ? block.callId : null)));
  for (const [path, { callId, written }] of reads) {
    // What a call wrote stands in its arguments.
    if (!results.has(callId) || (written && !calls.has(callId))) reads.delete(path);
  }
}
