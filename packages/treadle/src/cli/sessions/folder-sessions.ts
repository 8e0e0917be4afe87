import type { Journal } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';

import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import { UsageError } from '../usage-error.ts';

/** The agent of a folder: sessions are found by it. */
export const agentIdOf = (folder: string): string => `${PREFIX}${folder}`;

const PREFIX = 'cli:';

/** The folder a session works in; undefined for a session that the command line didn't start. */
export function folderOf({ agentId }: Pick<SessionSummary, 'agentId'>): string | undefined {
  return agentId?.startsWith(PREFIX) === true ? agentId.slice(PREFIX.length) : undefined;
}

/**
 * The real path of a folder, so that it is the same folder by whatever name.
 *
 * @throws UsageError when it isn't one.
 */
export async function realFolder(base: string, path: string): Promise<string> {
  const absolute = resolve(base, path);
  const facts = await stat(absolute).catch(() => null);
  if (facts === null) throw new UsageError(`There is no folder ${absolute}.`);
  if (!facts.isDirectory()) throw new UsageError(`${absolute} is not a folder.`);
  return realpath(absolute);
}

/** The real path of a folder that may be gone by now; what is left of the path decides then. */
export async function formerFolder(base: string, path: string): Promise<string> {
  const absolute = resolve(base, path);
  if (await isThere(absolute)) return realFolder(base, path);
  const missing: string[] = [];
  let existing = absolute;
  while (!(await isThere(existing)) && existing !== dirname(existing)) {
    missing.unshift(basename(existing));
    existing = dirname(existing);
  }
  return join(await realpath(existing), ...missing);
}

/** The real paths of the folders that are there; the others are said, and left out. */
export async function foldersThere(paths: readonly string[], note: (text: string) => void): Promise<readonly string[]> {
  const there: string[] = [];
  for (const path of paths) {
    if ((await stat(path).catch(() => null))?.isDirectory() === true) there.push(await realpath(path));
    else note(`There is no folder ${path}: the tools do without it.`);
  }
  return there;
}

export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The session of this folder that was written to last. */
export async function latestSession(journal: Journal, folder: string): Promise<string> {
  const { sessions } = await journal.list({ agentId: agentIdOf(folder), limit: 1 });
  const [latest] = sessions;
  if (!latest) throw new UsageError(`There is no session of ${folder} to continue. Start one with a prompt.`);
  return latest.sessionId;
}

const SHORT = /^session_([0-9a-f]{8})[0-9a-f]{24}$/;

/** The beginning of an id that {@link sessionOf} finds the session by, short enough for people. */
export const shortId = (sessionId: string): string => SHORT.exec(sessionId)?.[1] ?? sessionId;

/**
 * The session that an id, or the beginning of one, means; with or without its `session_`.
 *
 * @returns `given` when there is none: whoever opens it says so
 * @throws UsageError when it is the beginning of several.
 */
export async function sessionOf(journal: Journal, given: string): Promise<string> {
  if (given === '' || SHORT.test(given)) return given;
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await journal.list({ limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    for (const { sessionId } of page.sessions) {
      if (sessionId === given) return given;
      if (sessionId.startsWith(given) || sessionId.startsWith(`session_${given}`)) found.push(sessionId);
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  if (found.length > 1) {
    const some = found.slice(0, 3).join(', ');
    throw new UsageError(`${found.length} sessions begin with '${given}': ${some}${found.length > 3 ? ', …' : ''}.`);
  }
  return found[0] ?? given;
}

/** The folder that a session was started in. */
export async function folderOfSession(journal: Journal, sessionId: string): Promise<string | undefined> {
  for await (const event of journal.read(sessionId, 1)) {
    return event.type === 'session_created' && event.agentId !== undefined
      ? folderOf({ agentId: event.agentId })
      : undefined;
  }
  return undefined;
}
