import type { DurableEvent, SessionInput } from '../../events/events.ts';
import { EVENT_VERSION } from '../../events/version.ts';
import { TreadleError } from '../../errors.ts';
import type { SessionState } from '../state.ts';

// What a newer version has written may mean anything, so none of it is passed over.

const tooNew = (message: string): TreadleError => new TreadleError('journal_too_new', message);

/** Notes the version of what comes from here on. */
export function writtenBy(state: SessionState, eventVersion: number): void {
  if (eventVersion > EVENT_VERSION) {
    const versions = `events ${eventVersion}, known ${EVENT_VERSION}`;
    throw tooNew(`Session ${state.sessionId} was written by a newer Treadle (${versions}).`);
  }
  state.eventVersion = Math.max(state.eventVersion, eventVersion);
}

export function unknownEvent(event: never): never {
  const { type, seq } = event as DurableEvent;
  throw tooNew(`Event ${seq} is of the unknown type "${type}". Use a newer Treadle.`);
}

const INPUTS: Readonly<Record<SessionInput['type'], true>> = {
  prompt: true,
  continue: true,
  steering: true,
  follow_up: true,
  clear_queue: true,
  cancel: true,
  client_tool_results: true,
  approval_answer: true,
  task_ended: true,
  stop_task: true,
  branch: true,
  compact: true,
  permission_updates: true,
  import: true,
  rename: true,
  tag: true,
  child_updated: true,
  set_state: true,
  extension: true,
};

export function refuseUnknownInput(seq: number, { type }: SessionInput): void {
  if (!Object.hasOwn(INPUTS, type)) throw tooNew(`Input ${seq} is of the unknown type "${type}". Use a newer Treadle.`);
}
