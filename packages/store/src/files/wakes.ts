import { isDrivenElsewhere, type DueOptions, type DueSession } from '@treadle/core/journal';
import { join } from 'node:path';
import { holderCheck } from '../checks.ts';
import { bootId } from '../processes.ts';
import { namedLogs, readText, replaceFile } from './folder.ts';
import { holderOf, readLease, writeLease } from './lease.ts';
import { readSession, type Logs } from './logs.ts';
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
  for (const name of (await fs.readdir(layout.wakes)).toSorted()) {
    if (name.startsWith('.')) continue;
    if (due.length >= limit || Number(name.slice(0, 16)) > before) break;
    const log = name.slice(17);
    // A session that can't be read holds up no other one.
    const lease = await readLease(fs, join(layout.logs, log)).catch(() => null);
    const wake = lease?.wake;
    if (!lease || wake?.dueAt == null || wake.dueAt > before) continue;
    const { sessionId, agentId, dueAt } = wake;
    if (agentId !== undefined && agents?.includes(agentId) === false) continue;
    const holder = await holderOf(layout, lease);
    if (!holder || !isAlive(holder)) due.push({ sessionId, dueAt, ...(agentId !== undefined && { agentId }) });
  }
  return due;
}

/**
 * Makes the markers anew, once after each start of the machine: a power failure may have taken some away. Sessions of an
 * earlier version are due once.
 */
export async function restoreMarkers(logs: Logs): Promise<void> {
  const { layout } = logs;
  const { fs } = layout;
  const path = join(layout.wakes, '.boot');
  const boot = bootId();
  if (boot !== '' && (await readText(fs, path)) === boot) return;
  for (const named of await namedLogs(layout)) {
    if ('damage' in named) continue;
    const folder = join(layout.logs, named.log);
    const lease = await readLease(fs, folder).catch(() => null);
    if (lease === null || lease.epoch === 0 || lease.wake === null) continue;
    const wake = lease.wake ?? (await firstWake(logs, named.name));
    await putMarker(layout, named.log, wake);
    if (lease.wake === undefined && (await readLease(fs, folder)).epoch === lease.epoch)
      await writeLease(fs, folder, { ...lease, wake });
  }
  await replaceFile(fs, path, boot);
}

/** The wake of a session that an earlier version has written. */
async function firstWake(logs: Logs, sessionId: string): Promise<Wake | null> {
  try {
    for await (const event of readSession(logs, sessionId, 1)) {
      if (isDrivenElsewhere(event)) return null;
      const agentId = event.type === 'session_created' ? event.agentId : undefined;
      return { sessionId, agentId, dueAt: event.at, status: 'idle', waitsFor: [] };
    }
  } catch {
    // Damaged, or removed meanwhile: nobody can go on with it.
  }
  return null;
}
