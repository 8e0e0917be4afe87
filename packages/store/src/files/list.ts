import type { TreadleError } from '@treadle/core';
import { standingOf, type ListOptions, type SessionPage, type SessionSummary } from '@treadle/core/journal';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import { damageOf, namedLogs } from './folder.ts';
import { readLease } from './lease.ts';
import { refreshNamed, type LogFile } from './log.ts';
import { openLog, type Logs } from './logs.ts';

interface Row {
  readonly log: string;
  readonly summary: SessionSummary;
}

/** Most recently written first; the later created first among equals. */
const newestFirst = (a: Row, b: Row): number =>
  b.summary.updatedAt - a.summary.updatedAt || (a.log < b.log ? 1 : a.log > b.log ? -1 : 0);

/** A cursor names the last row shown; the next page holds what sorts after it. */
function afterCursor(cursor: string): (row: Row) => boolean {
  const [time = '', log = ''] = cursor.split('|');
  const updatedAt = Number(time);
  return (row) => row.summary.updatedAt < updatedAt || (row.summary.updatedAt === updatedAt && row.log < log);
}

export async function listSessions(
  logs: Logs,
  { limit = 50, cursor, agentId, tag }: ListOptions,
): Promise<SessionPage> {
  let rows: Row[] = [];
  for (const named of await namedLogs(logs.layout)) {
    const row = 'damage' in named ? unnamed(named) : await rowOf(logs, named);
    if (row) rows.push(row);
  }
  if (agentId !== undefined) rows = rows.filter(({ summary }) => summary.agentId === agentId);
  if (tag !== undefined) rows = rows.filter(({ summary }) => summary.tags?.includes(tag) === true);
  if (cursor !== undefined) rows = rows.filter(afterCursor(cursor));
  rows.sort(newestFirst);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: await Promise.all(
      shown.map(async ({ log, summary }) => ({ ...summary, ...(await standingIn(logs, log)) })),
    ),
    ...(last && rows.length > limit ? { cursor: `${last.summary.updatedAt}|${last.log}` } : {}),
  };
}

/** How a session was left. What is wrong with its lease is told to whoever drives it. */
async function standingIn({ layout }: Logs, log: string): Promise<Pick<SessionSummary, 'status' | 'waitsFor'>> {
  const lease = await readLease(layout.fs, join(layout.logs, log)).catch(() => null);
  return lease?.wake ? standingOf(lease.wake) : {};
}

/** Damage of one session hides none of the others: its row says so. Null for a session that was removed meanwhile. */
async function rowOf(logs: Logs, { name, log }: { readonly name: string; readonly log: string }): Promise<Row | null> {
  let file: LogFile | null = null;
  try {
    ({ log: file } = await openLog(logs, log, name));
    await refreshNamed(file);
    return { log, summary: summaryIn(name, file) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    const damage = damageOf(error).message;
    const known = file ? summaryIn(name, file) : { sessionId: name, seq: 0, createdAt: 0, updatedAt: 0 };
    return { log, summary: { ...known, damage } };
  }
}

/** A session whose name can't be read: the file that had it stands for it. */
const unnamed = ({ file, damage }: { readonly file: string; readonly damage: TreadleError }): Row => ({
  log: file,
  summary: { sessionId: file, seq: 0, createdAt: 0, updatedAt: 0, damage: damage.message },
});

const summaryIn = (sessionId: string, file: LogFile): SessionSummary => ({
  sessionId,
  seq: file.seq,
  createdAt: file.createdAt,
  updatedAt: file.updatedAt,
  ...(file.agentId === undefined ? {} : { agentId: file.agentId }),
  ...(file.firstPrompt ? { firstPrompt: file.firstPrompt.text } : {}),
  ...file.facts,
  ...(file.parent ? { parent: { sessionId: file.parent.sessionId, seq: file.parent.seq } } : {}),
});
