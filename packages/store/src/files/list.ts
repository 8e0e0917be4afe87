import type { ListOptions, SessionPage, SessionSummary } from '@treadle/core';
import { namedLogs } from './folder.ts';
import { refresh, type LogFile } from './log.ts';
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
  for (const { name, log } of await namedLogs(logs.layout)) {
    const summary = await summaryOf(logs, name, log);
    if (summary) rows.push({ log, summary });
  }
  if (agentId !== undefined) rows = rows.filter(({ summary }) => summary.agentId === agentId);
  if (tag !== undefined) rows = rows.filter(({ summary }) => summary.tags?.includes(tag) === true);
  if (cursor !== undefined) rows = rows.filter(afterCursor(cursor));
  rows.sort(newestFirst);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: shown.map(({ summary }) => summary),
    ...(last && rows.length > limit ? { cursor: `${last.summary.updatedAt}|${last.log}` } : {}),
  };
}

/** Null for a session that was removed meanwhile. */
async function summaryOf(logs: Logs, sessionId: string, log: string): Promise<SessionSummary | null> {
  try {
    const { log: file } = await openLog(logs, log, sessionId);
    await refresh(file);
    return summaryIn(sessionId, file);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ENOENT') return null;
    throw error;
  }
}

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
