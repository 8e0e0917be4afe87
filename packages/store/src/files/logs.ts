import type { DurableEvent } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { agentIdOf, isDrivenElsewhere, journalErrors, type Snapshot } from '@treadle/core/journal';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { refuseHeld, requireEvent } from '../checks.ts';
import { codeOf, unless } from '../errors.ts';
import { findLog, nameLog, parsedFile, readText, syncFolder, unnameLog, writeDurably, type Layout } from './folder.ts';
import { holderOf, writeLease } from './lease.ts';
import { takeMarker } from './markers.ts';
import { newLogFile, offsetAfter, readLog, refresh, refreshNamed, type LogFile } from './log.ts';
import { draftOf } from './record.ts';
import { dropSnapshotsAfter, newestSnapshot } from './snapshots.ts';
import type { Standing } from '../watchers.ts';
import { createWriter, type Writer, type WriterOptions } from './writer.ts';

/** The open logs of a folder. */
export interface Logs {
  readonly layout: Layout;
  readonly writing: Omit<WriterOptions, 'isNamed'>;
  readonly writers: Map<string, Promise<Writer>>;
  /** The writers of sessions by their names, as far as they were asked for. A writer notices when it isn't any more. */
  readonly named: Map<string, Writer>;
}

/** Where a fork comes from, kept beside its log. */
interface Origin {
  readonly log: string;
  readonly sessionId: string;
  readonly seq: number;
  readonly firstPrompt: LogFile['firstPrompt'];
}

const folderOf = ({ layout }: Logs, log: string): string => join(layout.logs, log);

async function originAt(logs: Logs, log: string): Promise<Origin | null> {
  const path = join(folderOf(logs, log), 'origin.json');
  const text = await readText(logs.layout.fs, path);
  return text === null ? null : (parsedFile(path, text) as unknown as Origin);
}

/** The open log with that id. */
export function openLog(logs: Logs, log: string, sessionId: string): Promise<Writer> {
  const known = logs.writers.get(log);
  if (known) return known;
  const opened = (async () => {
    const origin = await originAt(logs, log);
    const folder = folderOf(logs, log);
    const file = newLogFile(logs.layout.fs, log, join(folder, 'log.jsonl'), origin, origin?.firstPrompt ?? null);
    const isNamed = async (): Promise<boolean> => (await findLog(logs.layout, sessionId)) === log;
    return createWriter(sessionId, folder, file, { ...logs.writing, isNamed });
  })();
  logs.writers.set(log, opened);
  opened.catch(() => logs.writers.delete(log));
  return opened;
}

/** @throws TreadleError `session_not_found`. */
export async function writerOf(logs: Logs, sessionId: string): Promise<Writer> {
  const log = await findLog(logs.layout, sessionId);
  if (log === null) throw journalErrors.notFound(sessionId);
  return openLog(logs, log, sessionId);
}

/** Writes to a session, which is looked up again only when it isn't where it was. */
export async function writeTo<Value>(
  logs: Logs,
  sessionId: string,
  write: (writer: Writer) => Promise<Value>,
): Promise<Value> {
  const known = logs.named.get(sessionId);
  if (known) {
    try {
      return await write(known);
    } catch (error) {
      if (!MOVED.has(codeOf(error))) throw error;
      logs.named.delete(sessionId);
    }
  }
  const writer = await writerOf(logs, sessionId);
  const value = await write(writer);
  logs.named.set(sessionId, writer);
  return value;
}

/** What a writer fails with, before it has written anything, when its log or its name is gone. */
const MOVED: ReadonlySet<unknown> = new Set(['session_not_found', 'ENOENT']);

/** Where a session stands, read anew only when the file has grown; null when there is no session. */
export async function standingOf(logs: Logs, sessionId: string): Promise<Standing | null> {
  const log = await findLog(logs.layout, sessionId);
  if (log === null) return null;
  const { log: file } = await openLog(logs, log, sessionId);
  const { size } = await logs.layout.fs.stat(file.path);
  if (size > file.size) await refreshNamed(file);
  return { id: log, seq: file.seq };
}

let made = 0;

/** Ids sort by the time of creation. */
const newId = (): string =>
  `${Date.now().toString(36).padStart(9, '0')}${(made = (made + 1) % 1e6).toString().padStart(6, '0')}-${randomUUID()}`;

export async function createLog(
  logs: Logs,
  sessionId: string,
  first: DurableEventBody,
  fork: { readonly sessionId: string; readonly seq: number } | undefined,
): Promise<void> {
  agentIdOf(first);
  if ((await findLog(logs.layout, sessionId)) !== null) throw journalErrors.exists(sessionId);
  if (!fork) return makeLog(logs, sessionId, first, null);
  const writer = await writerOf(logs, fork.sessionId);
  // Alone, so that the parent can't be removed while it gets a child.
  await writer.alone(async (lease) => {
    if ((await findLog(logs.layout, fork.sessionId)) !== writer.log.id) throw journalErrors.notFound(fork.sessionId);
    const origin = originOf(fork, writer.log);
    // A power failure must not take away what the child is made of.
    if (fork.seq > Math.max(writer.log.synced, writer.log.parent?.seq ?? 0)) await writer.sync(lease);
    await makeLog(logs, sessionId, first, origin);
  });
}

function originOf({ sessionId, seq }: { readonly sessionId: string; readonly seq: number }, parent: LogFile): Origin {
  requireEvent(sessionId, seq, parent.seq);
  const { firstPrompt } = parent;
  return { log: parent.id, sessionId, seq, firstPrompt: firstPrompt && firstPrompt.seq <= seq ? firstPrompt : null };
}

async function makeLog(logs: Logs, sessionId: string, first: DurableEventBody, origin: Origin | null): Promise<void> {
  const { fs } = logs.layout;
  const log = newId();
  const folder = folderOf(logs, log);
  await fs.mkdir(folder, { mode: 0o700 });
  if (origin) {
    await writeDurably(fs, join(folder, 'origin.json'), JSON.stringify(origin));
    // The parent knows of its child before the child has a name, so that nothing it reads is ever deleted.
    const forks = join(folderOf(logs, origin.log), 'forks');
    await fs.mkdir(forks, { recursive: true, mode: 0o700 });
    await writeDurably(fs, join(forks, log), String(origin.seq));
    await syncFolder(fs, forks);
    await syncFolder(fs, folderOf(logs, origin.log));
  }
  const seq = (origin?.seq ?? 0) + 1;
  await writeDurably(fs, join(folder, 'log.jsonl'), draftOf(seq, false, first, seq - 1).line);
  if (isDrivenElsewhere(first)) await writeLease(fs, folder, { epoch: 0, holder: null, wake: null });
  await syncFolder(fs, folder);
  await syncFolder(fs, logs.layout.logs);
  if (await nameLog(logs.layout, sessionId, log)) return;
  await dropLog(logs, log, origin);
  throw journalErrors.exists(sessionId);
}

async function dropLog(logs: Logs, log: string, origin: Origin | null): Promise<void> {
  logs.writers.delete(log);
  const { fs } = logs.layout;
  await fs.rm(folderOf(logs, log), { recursive: true, force: true });
  if (origin) await fs.rm(join(folderOf(logs, origin.log), 'forks', log), { force: true });
}

/** Deletes a session, but for what forks still read of it; returns where its log ended. */
export async function removeLog(logs: Logs, sessionId: string): Promise<void> {
  const writer = await writerOf(logs, sessionId);
  await writer.alone(async (lease) => {
    if ((await findLog(logs.layout, sessionId)) !== writer.log.id) throw journalErrors.notFound(sessionId);
    refuseHeld(sessionId, await holderOf(logs.layout, lease), logs.writing);
    await takeMarker(logs.layout, writer.log.id, lease.wake, null);
    const folder = folderOf(logs, writer.log.id);
    await logs.layout.fs.writeFile(join(folder, 'removed'), '', { mode: 0o600 });
    await syncFolder(logs.layout.fs, folder);
    await unnameLog(logs.layout, sessionId);
    await prune(logs, writer.log);
  });
}

/** Deletes what no fork reads of a removed log, and its removed ancestors when it was the last to read them. */
async function prune(logs: Logs, file: LogFile): Promise<void> {
  const { fs } = logs.layout;
  const forks = join(folderOf(logs, file.id), 'forks');
  const names = (await unless(fs.readdir(forks), 'ENOENT')) ?? [];
  if (names.length > 0) {
    const texts = await Promise.all(names.map((name) => readText(fs, join(forks, name))));
    const lastUsed = Math.max(...texts.map(Number));
    await dropSnapshotsAfter(file, lastUsed);
    await fs.truncate(file.path, await offsetAfter(file, lastUsed));
    logs.writers.delete(file.id);
    return;
  }
  const origin = await originAt(logs, file.id);
  await dropLog(logs, file.id, origin);
  if (origin === null || (await readText(fs, join(folderOf(logs, origin.log), 'removed'))) === null) return;
  const { log: parent } = await openLog(logs, origin.log, origin.sessionId);
  await refresh(parent);
  await prune(logs, parent);
}

/** The events of a session from `from` on, its ancestors' first, up to the end of the log as it is now. */
export async function* readSession(logs: Logs, sessionId: string, from: number): AsyncGenerator<DurableEvent> {
  const { log } = await writerOf(logs, sessionId);
  await refreshNamed(log);
  const stretches: { readonly file: LogFile; readonly to: number }[] = [];
  let file: LogFile | null = log;
  let to = log.seq;
  while (file !== null && to >= from) {
    stretches.push({ file, to });
    const { parent }: LogFile = file;
    // A fork may have been forked at an event of its own parent's.
    to = Math.min(to, parent?.seq ?? 0);
    file = parent === null ? null : (await openLog(logs, parent.log, parent.sessionId)).log;
    if (file !== null && file.size === 0) await refresh(file);
  }
  for (const stretch of stretches.toReversed()) yield* readLog(stretch.file, Math.max(1, from), stretch.to);
}

/** The newest snapshot of a session at event `upTo` or before, its ancestors' included. */
export async function findSnapshot(logs: Logs, sessionId: string, upTo: number): Promise<Snapshot | null> {
  let file: LogFile | null = (await writerOf(logs, sessionId)).log;
  let last = upTo;
  while (file !== null) {
    const found = await newestSnapshot(file, last);
    if (found !== null) return found;
    const { parent }: LogFile = file;
    last = Math.min(last, parent?.seq ?? 0);
    file = parent === null ? null : (await openLog(logs, parent.log, parent.sessionId)).log;
  }
  return null;
}
