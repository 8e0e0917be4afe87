import type { Journal } from '@treadle/core';
import type { RewindAction, RewindOptions, RewindReport } from '@treadle/tools';

import { hostname } from 'node:os';

import { folderOfSession, isThere, shortId } from './folder-sessions.ts';
import type { CliIo } from '../io.ts';
import { openBlobs } from '../parts.ts';
import { plainLine } from '../asking/plain-text.ts';

/** Takes a session back, with the files of the folder that it works in. */
export async function rewindFromFlags(
  io: CliIo,
  journal: Journal,
  sessionId: string,
  flags: Pick<RewindOptions, 'to' | 'what' | 'dryRun'>,
): Promise<RewindReport> {
  const { rewindSession } = await import('@treadle/tools');
  const folder = await folderOfSession(journal, sessionId);
  return rewindSession({
    ...flags,
    journal,
    sessionId,
    blobs: await openBlobs(io),
    roots: folder !== undefined && (await isThere(folder)) ? [folder] : [],
    owner: `treadle sessions rewind, process ${process.pid} on ${hostname()}`,
  });
}

const DONE: Readonly<Record<RewindAction, string>> = {
  restore: 'restored',
  delete: 'deleted',
  none: 'as it was',
  changed: 'left alone',
  refused: 'left alone',
};

const PLANNED: Readonly<Record<RewindAction, string>> = { ...DONE, restore: 'to restore', delete: 'to delete' };

/** A line per file, and where the conversation goes on. */
export function rewindLines({ to, dryRun, files, sessionId }: RewindReport): string {
  const words = dryRun ? PLANNED : DONE;
  return [
    `${dryRun ? 'Would go' : 'Went'} back to before message ${to.number}: ${plainLine(to.text, 80)}`,
    ...files.map(({ path, action, message }) => {
      const why = message === undefined ? '' : `\t${plainLine(message, 200)}`;
      return `${words[action]}\t${plainLine(path)}${why}`;
    }),
    ...(sessionId === null ? [] : [`The conversation goes on from there with: treadle -r ${shortId(sessionId)}`]),
  ].join('\n');
}
