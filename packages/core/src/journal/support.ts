import type { DurableEventBody, SessionInput } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { isDeep, isDeepText, MAX_ENVELOPE_DEPTH, TOO_DEEP } from '../json.ts';
import type { Owner, Rest, SessionSummary } from './journal.ts';

const FIRST_PROMPT_LENGTH = 120;

/** Blanks that are not one space each. */
const SPACES = /\s\s|[^\S ]/u;

/**
 * What `list` shows of a prompt: the text of its first message on one line, at most 120 characters and never half a
 * surrogate pair. Undefined for any other input and for a prompt without text. For authors of journals.
 */
export function firstPromptOf(input: SessionInput): string | undefined {
  if (input.type !== 'prompt') return undefined;
  let text = '';
  for (const block of input.messages[0]?.content ?? []) {
    if (block.type === 'text') text += `${text === '' ? '' : ' '}${block.text.slice(0, 4 * FIRST_PROMPT_LENGTH)}`;
    if (text.length > 4 * FIRST_PROMPT_LENGTH) break;
  }
  const line = (SPACES.test(text) ? text.replace(/\s+/gu, ' ') : text).trim();
  if (line.length <= FIRST_PROMPT_LENGTH) return line === '' ? undefined : line;
  const cut = line.slice(0, FIRST_PROMPT_LENGTH);
  const last = cut.charCodeAt(cut.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? cut.slice(0, -1) : cut;
}

/** The agent a session's first event names. A log that starts with anything else is a defect of the caller. */
export function agentIdOf(first: DurableEventBody): string | undefined {
  if (first.type !== 'session_created') {
    throw new TreadleError('internal', `A log starts with session_created, not with ${first.type}.`);
  }
  return first.agentId;
}

/**
 * Whether an event says that the session is never due by itself: a sub-agent's or a branch, which its parent drives, and a
 * replay, whose tools would run for real without whoever asked for it. For authors of journals: from then on the session has no wake.
 */
export function isDrivenElsewhere(event: DurableEventBody): boolean {
  if (event.type === 'session_created') return event.spawnedBy !== undefined || event.branchOf !== undefined;
  if (event.type !== 'input_received' || !('continuation' in event.input)) return false;
  const { continuation } = event.input;
  return continuation?.kind === 'rerun' && continuation.tag.startsWith('replay of ');
}

/**
 * When a session is due after its drive has let it go at event `last`. For authors of journals.
 *
 * @param now the time at which a session is due that has got news since
 */
export const dueAfter = ({ seen, wakeAt }: Rest, last: number, now: number): number | null =>
  last > seen ? now : wakeAt;

/**
 * Which of a log's snapshots, named by their events, are no longer worth their room: the older they are, the further apart
 * they stay, and the newest two always. So there are only as many as the log's length has doublings, twice over, and
 * whoever forks a session at an old event reads at most about as far as it lies back. For authors of journals.
 */
export function thinSnapshots(seqs: readonly number[]): number[] {
  const kept = [...seqs].sort((a, b) => a - b);
  const newest = kept.at(-1) ?? 0;
  const dropped: number[] = [];
  for (let index = kept.length - 2; index > 0; index -= 1) {
    const [before = 0, seq = 0, after = 0] = kept.slice(index - 1, index + 2);
    if (after - before > newest - after) continue;
    kept.splice(index, 1);
    dropped.push(seq);
  }
  return dropped;
}

/**
 * An event as the text that a journal stores. For authors of journals: what is stored must be read again, so this has the
 * limit on nesting that `parseJson(text, MAX_ENVELOPE_DEPTH)` has.
 *
 * @throws TreadleError `json_too_deep`.
 */
export function eventText(event: DurableEventBody): string {
  try {
    const text = JSON.stringify(event);
    if (!isDeepText(text, MAX_ENVELOPE_DEPTH)) return text;
  } catch (error) {
    // The engine's own limit, which is far above ours.
    if (!(error instanceof RangeError) || !isDeep(event, MAX_ENVELOPE_DEPTH)) throw error;
  }
  throw new TreadleError('json_too_deep', `An event of type ${event.type} is ${TOO_DEEP}. It was not stored.`);
}

/** The errors every journal throws, in the same words. For authors of journals. */
export const journalErrors = {
  notFound: (sessionId: string): TreadleError =>
    new TreadleError('session_not_found', `There is no session ${sessionId}.`, { details: { sessionId } }),
  exists: (sessionId: string): TreadleError =>
    new TreadleError('session_exists', `There is a session ${sessionId} already.`, { details: { sessionId } }),
  busy: (sessionId: string, owner: Owner): TreadleError =>
    new TreadleError('session_busy', `Session ${sessionId} is being worked on by ${owner.label}.`, {
      details: { sessionId, ownerId: owner.id, ownerLabel: owner.label },
    }),
  fenced: (sessionId: string, epoch: number, why: string): TreadleError =>
    new TreadleError('fenced', `This drive (epoch ${epoch}) may not write to session ${sessionId}: ${why}.`, {
      details: { sessionId, epoch },
    }),
  noSuchEvent: (sessionId: string, seq: number, last: number): TreadleError =>
    new TreadleError('session_not_found', `Session ${sessionId} has events 1 to ${last}; there is no event ${seq}.`, {
      details: { sessionId, seq },
    }),
  closed: (): TreadleError => new TreadleError('journal_failed', 'The journal is closed.'),
};

/** What a list says of how a session was left. */
export const standingOf = ({
  status,
  waitsFor,
}: Pick<Rest, 'status' | 'waitsFor'>): Pick<SessionSummary, 'status' | 'waitsFor'> => ({
  ...(status !== 'idle' && { status }),
  ...(status === 'paused' && { waitsFor }),
});
