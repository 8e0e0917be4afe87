import { isJsonObject } from '../../json.ts';
import type { EventOf, Fold } from '../../kernel/fold.ts';
import { asHookDecision } from '../../kernel/services/hook-decision.ts';
import type { SessionState } from '../../kernel/state.ts';

export const hooksFold: Fold = {
  after(state, event) {
    switch (event.type) {
      case 'decision_made':
        if (event.kind === 'hook') decided(state, event);
        return;
      case 'message_added':
        if (event.message.role === 'user' && event.message.origin === 'hook' && state.notes.length > 0)
          state.notes = state.notes.filter(({ id }) => id !== event.message.id);
        return;
      case 'run_ended':
        state.notes = event.inputSeq === undefined ? [] : notesAfterRefusal(state, event.inputSeq);
        return;
      case 'session_created':
        // Of a fork: what hooks said to the conversation outside of runs stays with the parent.
        if (!state.run) state.notes = [];
        return;
      case 'drive_started':
        return forgetOtherDrives(state);
      default:
    }
  },
};

/** What a hook said takes effect: on its call, on what the model is told, on the run. */
function decided(state: SessionState, { seq, key, callId, runId, decision }: EventOf<'decision_made'>): void {
  if (!isJsonObject(decision)) return;
  const said = asHookDecision(decision);
  // What a hook adds to a compaction is for whoever writes the summary.
  if (said.context !== undefined && !key.startsWith('before_compaction:'))
    state.notes.push({ id: `hook_${seq}`, text: said.context, key });
  const { run } = state;
  if (run === null || run.runId !== runId) return;
  if (said.endRun !== undefined) run.stop = { reason: said.endRun };
  const call = callId === undefined ? undefined : run.turn?.calls.find((each) => each.callId === callId);
  if (call && said.input) call.arguments = said.input;
  if (call?.result && said.output) call.result = { ...call.result, content: said.output };
  if (key.startsWith('stop:') && said.decision === 'deny') run.stopsRefused += 1;
}

/** The run never started: hooks had to add to it, and that is of no use. */
function notesAfterRefusal({ notes }: SessionState, inputSeq: number): SessionState['notes'] {
  const about = [`user_prompt_submit:${inputSeq}`, `before_run:${inputSeq}`];
  return notes.filter(({ key }) => !about.includes(key));
}

/** What was asked at the start of an earlier drive is of no use to this one: a run that waits may see any number of them. */
function forgetOtherDrives({ decisions }: SessionState): void {
  for (const key of decisions.keys()) if (key.startsWith('session_start:')) decisions.delete(key);
}
