import { createHash } from 'node:crypto';
import type { RunStatus } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import type { ServerParts } from '../../parts.ts';
import { oneRun, type Scope } from '../../streams/scope.ts';

/** What a session did about one input: a run, or the rest of a run that the input joined. */
export interface Reply {
  readonly inputSeq: number;
  readonly key: string;
  readonly input: SessionInput;
  /** True for a message that a run took while it was open. */
  readonly joined: boolean;
  /** Null until a run has taken the input. */
  runId: string | null;
  /** The event that took it. */
  beganSeq: number;
  /** The run's end, or the pause that it is in. Null while it works or waits to begin. */
  stopSeq: number | null;
  /** How the run ended. */
  status: RunStatus | null;
}

const STARTS_REPLY: ReadonlySet<string> = new Set(['prompt', 'continue', 'steering', 'follow_up']);

/** The replies of a session, from an event on, oldest first. */
export async function readReplies({ journal }: ServerParts, sessionId: string, from: number): Promise<Reply[]> {
  const replies: Reply[] = [];
  for await (const event of journal.read(sessionId, from)) {
    if (event.type === 'input_received') {
      const { seq: inputSeq, key, input } = event;
      const joined = input.type === 'steering' || input.type === 'follow_up';
      const open = { runId: null, beganSeq: inputSeq, stopSeq: null, status: null };
      if (STARTS_REPLY.has(input.type)) replies.push({ inputSeq, key, input, joined, ...open });
      continue;
    }
    if (!('runId' in event) || event.runId === undefined) continue;
    const taken = 'inputSeq' in event ? replies.find(({ inputSeq }) => inputSeq === event.inputSeq) : undefined;
    if (taken?.runId === null) Object.assign(taken, { runId: event.runId, beganSeq: event.seq });
    const isStop = event.type === 'run_ended' || event.type === 'run_paused';
    for (const reply of replies) {
      if (reply.runId !== event.runId || reply.status !== null) continue;
      reply.stopSeq = isStop ? event.seq : null;
      if (event.type === 'run_ended') reply.status = event.status;
    }
  }
  return replies;
}

/** A reply up to its end or the pause that it is in now. Pauses that are over are passed over. */
export function wholeReply({ inputSeq, joined, runId, stopSeq }: Reply, lastSeq: number): Scope {
  const ref = runId === null || !joined ? { inputSeq } : { runId };
  return pastPauses(oneRun(ref), stopSeq ?? lastSeq + 1);
}

/** A run may pause before `seq`, and the stream goes on. */
export function pastPauses(scope: Scope, seq: number): Scope {
  return (event) => {
    const verdict = scope(event);
    return verdict === 'last' && event.type === 'run_paused' && event.seq < seq ? 'skip' : verdict;
  };
}

const PREFIX = 'chat:';

/** The key under which a client's message counts once. */
export const messageKey = (id: string): string =>
  `${PREFIX}${id.length <= 128 ? id : createHash('sha256').update(id).digest('hex')}`;

/** The key of a message that is sent again: another one each time. */
export const againKey = (id: string, inputKey: string): string => `${messageKey(id)}\n${inputKey}`;

/** True when an input brought the client's message, for the first time or again. */
export const isOf = ({ key }: Pick<Reply, 'key'>, id: string): boolean =>
  key === messageKey(id) || key.startsWith(`${messageKey(id)}\n`);

/** The client's id of the message that an input brought; null where it came by another way. */
export const clientIdOf = (key: string): string | null =>
  key.startsWith(PREFIX) ? (key.slice(PREFIX.length).split('\n', 1)[0] ?? null) : null;
