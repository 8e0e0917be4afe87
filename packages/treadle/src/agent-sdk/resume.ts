import {
  createSession,
  openSession,
  sessionsOf,
  type Blobs,
  type DurableEvent,
  type Journal,
  type Session,
} from '@treadle/core';

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { latestSession, sessionOf } from '../cli/sessions/folder-sessions.ts';
import type { SdkAgent } from './agent/agent.ts';
import type { SdkOptions } from './options.ts';
import { uuidOf } from './wire/ids.ts';

/** Where sessions are kept. */
export interface Kept {
  readonly journal: Journal;
  readonly blobs: Blobs | null;
}

/** What a session is opened with. */
export const keptWith = ({ journal, blobs }: Kept) => ({
  journal,
  ...(blobs ? { blobs } : {}),
  // Shown to the next process that wants the session.
  owner: `treadle-agent-sdk, process ${process.pid} on ${hostname()}`,
});

/** The session that the arguments mean, opened or begun. `isNew` when nothing was said in it yet. */
export async function openFor(options: SdkOptions, { agent }: SdkAgent, kept: Kept, folder: string): Promise<Session> {
  const { journal } = kept;
  const rest = keptWith(kept);
  const before = await sessionBefore(options, journal, folder);
  if (before === null) {
    const { title } = options;
    return createSession(agent, {
      ...rest,
      id: options.sessionId ?? randomUUID(),
      ...(title === null ? {} : { title }),
    });
  }
  if (!options.fork && options.resumeAt === null) return openSession(agent, before, rest);
  const at = options.resumeAt === null ? null : await lastSeqOf(journal, before, options.resumeAt);
  if (at !== null && options.dropsTurn !== null) await mustDropOnly(journal, before, at, options.dropsTurn);
  const id = options.sessionId ?? randomUUID();
  const fork = await sessionsOf(journal).fork(before, { id, ...(at === null ? {} : { at }) });
  return openSession(agent, fork, rest);
}

async function sessionBefore(
  { resume, continues }: SdkOptions,
  journal: Journal,
  folder: string,
): Promise<string | null> {
  if (resume !== null) return sessionOf(journal, resume);
  // Without a session to continue, a new one begins: so the clients expect it.
  return continues ? latestSession(journal, folder).catch(() => null) : null;
}

/** The event of the message that a client knows by this id, with the calls that it asked for. */
async function lastSeqOf(journal: Journal, sessionId: string, uuid: string): Promise<number> {
  let at: number | null = null;
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type === 'turn_ended' && at !== null) return event.seq;
    if (event.type !== 'message_added') continue;
    const { message } = event;
    if (at !== null) return at;
    const blocks = message.role === 'assistant' ? message.content.length : 0;
    const ids = [
      uuidOf(sessionId, message.id),
      ...Array.from({ length: blocks }, (_, index) => uuidOf(sessionId, message.id, index)),
    ];
    if (ids.includes(uuid)) at = event.seq;
  }
  if (at !== null) return at;
  throw new Error(`Session ${sessionId} has no message ${uuid}.`);
}

/** A session that can't be resumed as the client wants it, which is told in a result. */
export class ResumeRejected extends Error {
  constructor(message: string) {
    super(`Resume rejected by --resume-drops-turn: ${message}`);
    this.name = 'ResumeRejected';
  }
}

/** Where messages come from that people or programs have written, and not the runtime. */
const SAID: ReadonlySet<string> = new Set(['prompt', 'steering', 'follow_up', 'import']);

/** What an event adds to the conversation that no prompt of its own turn accounts for; null for nothing. */
function addedBy(event: DurableEvent, isInTurn: boolean): string | null {
  if (event.type === 'run_started' && isInTurn) return 'another turn';
  if (event.type === 'input_received' && event.input.type === 'task_ended') return 'the end of a task';
  if (event.type !== 'message_added' || event.message.role !== 'user' || !SAID.has(event.message.origin)) return null;
  return event.message.origin === 'prompt' ? null : 'a message that came while the turn ran';
}

/**
 * What is dropped must be the turn of this prompt, and nothing else: the client may not know of it.
 *
 * @throws ResumeRejected
 */
async function mustDropOnly(journal: Journal, sessionId: string, at: number, uuid: string): Promise<void> {
  let isInTurn = false;
  for await (const event of journal.read(sessionId, at + 1)) {
    const more = addedBy(event, isInTurn);
    if (more !== null) throw new ResumeRejected(`it would drop ${more} too.`);
    if (event.type !== 'run_started') continue;
    const { metadata } = event;
    isInTurn = metadata?.['uuid'] === uuid || (await promptOf(journal, sessionId, event.seq)) === uuid;
    if (!isInTurn) throw new ResumeRejected(`the first turn that it would drop is not that of the prompt ${uuid}.`);
  }
  if (!isInTurn) throw new ResumeRejected(`no turn of the prompt ${uuid} comes after the message to resume at.`);
}

/** The id by which a client that gave none knows the prompt of the run that begins there. */
async function promptOf(journal: Journal, sessionId: string, seq: number): Promise<string | null> {
  for await (const event of journal.read(sessionId, seq))
    if (event.type === 'message_added' && event.message.role === 'user') return uuidOf(sessionId, event.message.id);
  return null;
}
