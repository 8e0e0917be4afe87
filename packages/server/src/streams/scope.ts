import type { TreadleEvent } from '@treadle/core';

/** What a stream shows of an event, and whether it is the last one. */
export type Verdict = 'show' | 'skip' | 'last';

/** Says of each event of a session, in order, whether it belongs to a stream. */
export type Scope = (event: TreadleEvent) => Verdict;

/** All of a session. It never ends by itself. */
export const wholeSession: Scope = () => 'show';

/** Which run is streamed. */
export type RunRef =
  /** The one that this input starts. */
  | { readonly inputSeq: number }
  /** The one that this input is for: the first that goes on after it. */
  | { readonly answeredBy: number }
  | { readonly runId: string };

/** One run, up to its end or its next pause: what belongs to it, and what belongs to no run. */
export function oneRun(ref: RunRef): Scope {
  const inputSeq = 'inputSeq' in ref ? ref.inputSeq : null;
  let runId = 'runId' in ref ? ref.runId : null;
  return (event) => {
    if (
      inputSeq !== null &&
      (event.type === 'run_started' || event.type === 'run_ended') &&
      event.inputSeq === inputSeq
    ) {
      ({ runId } = event);
    }
    const answer = 'answeredBy' in ref ? ref.answeredBy : null;
    if (event.type === 'input_rejected' && (event.inputSeq === inputSeq || event.inputSeq === answer)) return 'last';
    const of = 'runId' in event ? event.runId : undefined;
    if (answer !== null) runId ??= of ?? null;
    if (of !== undefined && of !== runId) return 'skip';
    const isOver = (event.type === 'run_ended' || event.type === 'run_paused') && of === runId;
    return isOver ? 'last' : 'show';
  };
}
