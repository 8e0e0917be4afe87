import type { SessionState } from '../state.ts';

/**
 * A session that has events before its creation is a fork. What is under way or waits there is the parent's: the open run
 * is closed here before anything else, and inputs that nobody has taken up stay with the parent.
 */
export function forked(state: SessionState): void {
  if (state.seq === 0) return;
  const { run } = state;
  state.inbox = run ? state.inbox.filter(({ seq }) => seq === run.inputSeq) : [];
  state.epoch = 0;
  if (!run) return;
  run.paused = false;
  run.isForked = true;
  run.cancel = { reason: 'The session was forked here. The run goes on in the one it was forked from.' };
  for (const call of run.turn?.calls ?? []) call.isForked = call.status === 'started';
}
