import { isDrivenElsewhere, type DueOptions, type DueSession } from '@treadle/core/journal';
import { join } from 'node:path';
import { holderCheck } from '../checks.ts';
import { codeOf, unless } from '../errors.ts';
import { namedLogs, readText, replaceFile } from './folder.ts';
import { holderOf, readLease, writeLease } from './lease.ts';
import { acquireLock } from './lock.ts';
import { readSession, writerOf, type Logs } from './logs.ts';
import { putMarker, type Wake } from './markers.ts';

/** The sessions that are due and that nobody alive holds. */
export async function dueSessions(
  logs: Logs,
  { before, limit = 50, agents }: DueOptions,
): Promise<readonly DueSession[]> {
  const { layout, writing } = logs;
  const { fs } = layout;
  const due: DueSession[] = [];
  const isAlive = holderCheck(writing);
  const listed = new Set<string>();
  for (const name of (await fs.readdir(layout.wakes)).toSorted()) {
    if (name.startsWith('.')) continue;
    if (due.length >= limit || Number(name.slice(0, 16)) > before) break;
    const log = logIn(name);
    // A marker of an earlier time may have outlived a power failure.
    if (listed.has(log)) continue;
    // A session that can't be read holds up no other one.
    const lease = await readLease(fs, join(layout.logs, log)).catch(() => null);
    const wake = lease?.wake;
    if (!lease || wake?.dueAt == null || wake.dueAt > before) continue;
    const { sessionId, agentId, dueAt } = wake;
    if (agentId !== undefined && agents?.includes(agentId) === false) continue;
    const holder = await holderOf(layout, lease);
    if (holder && isAlive(holder)) continue;
    due.push({ sessionId, dueAt, ...(agentId !== undefined && { agentId }) });
    listed.add(log);
  }
  return due;
}

/** The log that a marker is of. */
const logIn = (marker: string): string => marker.slice(17);

/**
 * Makes the markers anew, once after each start of the machine: a power failure may have taken some away, and brought others
 * back. Sessions of an earlier version are due once.
 */
export async function restoreMarkers(logs: Logs): Promise<void> {
  const { layout, writing } = logs;
  const { fs } = layout;
  const path = join(layout.wakes, '.boot');
  const boot = writing.processes.boot?.() ?? '';
  if (boot !== '' && (await readText(fs, path)) === boot) return;
  // Before the names: whatever has a marker now has a name, unless it was removed.
  const markers = Map.groupBy(
    (await fs.readdir(layout.wakes)).filter((name) => !name.startsWith('.')),
    logIn,
  );
  const named = await namedLogs(layout);
  for (const each of named) {
    if ('damage' in each) continue;
    // One that was removed meanwhile, or that can't be read, holds up no other one.
    await restoreMarker(logs, each, markers.get(each.log) ?? []).catch((error: unknown) => {
      if (!PASSED_OVER.has(codeOf(error))) throw error;
    });
    markers.delete(each.log);
  }
  const removed = named.some((each) => 'damage' in each) ? [] : [...markers.values()].flat();
  for (const name of removed) await unless(fs.unlink(join(layout.wakes, name)), 'ENOENT');
  await replaceFile(fs, path, boot);
}

const PASSED_OVER: ReadonlySet<unknown> = new Set(['ENOENT', 'session_not_found', 'journal_corrupt']);

async function restoreMarker(
  logs: Logs,
  { name, log }: { readonly name: string; readonly log: string },
  markers: readonly string[],
): Promise<void> {
  const { layout, writing } = logs;
  const { fs } = layout;
  const folder = join(layout.logs, log);
  const { wake: seen } = await readLease(fs, folder);
  if (markers.length === 0 && (seen === null || seen?.dueAt === null)) return;
  // What another process writes meanwhile must not be written over, nor get a marker of the time before.
  const lock = await acquireLock(folder, writing, false);
  try {
    const lease = await readLease(fs, folder);
    const wake = lease.wake === undefined ? await firstWake(logs, name, lease.epoch > 0) : lease.wake;
    for (const marker of markers) await unless(fs.unlink(join(layout.wakes, marker)), 'ENOENT');
    await putMarker(layout, log, wake);
    if (lease.wake === undefined) await writeLease(fs, folder, { ...lease, wake });
  } finally {
    await lock.release();
  }
}

/** The wake of a session that has none: due where it was driven, or where something was posted to it. */
async function firstWake(logs: Logs, sessionId: string, wasDriven: boolean): Promise<Wake | null> {
  const { log } = await writerOf(logs, sessionId);
  const own = (log.parent?.seq ?? 0) + 1;
  for await (const event of readSession(logs, sessionId, own)) {
    if (isDrivenElsewhere(event)) return null;
    const dueAt = wasDriven || log.seq > own ? event.at : null;
    return { sessionId, agentId: log.agentId, dueAt, status: 'idle', waitsFor: [] };
  }
  return null;
}
