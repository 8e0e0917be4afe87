import { errorText, type JsonObject } from '@treadle/core';
import { rewindFold } from '@treadle/core/projections';
import { rewindSession } from '@treadle/tools';

import { Refused } from '../lines/channel.ts';
import type { Opened } from './opened.ts';
import { uuidOf } from '../wire/ids.ts';

/** Brings files back to what they held before a message of the user's. */
export async function rewindFiles(request: JsonObject, { session, sdk, kept, folder }: Opened): Promise<JsonObject> {
  const { user_message_id: wanted, dry_run: dryRun } = request;
  if (typeof wanted !== 'string') throw new Refused('The request needs user_message_id, a text.');
  const to = await messageOf(wanted, session.id, kept);
  if (to === null) return { canRewind: false, error: `This session has no message ${wanted}.` };
  const { journal, blobs } = kept;
  try {
    const { files } = await rewindSession({
      journal,
      sessionId: session.id,
      ...(blobs ? { blobs } : {}),
      roots: [folder, ...sdk.directories],
      to,
      what: 'files',
      dryRun: dryRun === true,
    });
    const changed = files.filter(({ action }) => action === 'restore' || action === 'delete');
    const left = files.flatMap(({ path, message }) => (message === undefined ? [] : [`${path}: ${message}`]));
    return {
      canRewind: true,
      filesChanged: changed.map(({ root, path }) => `${root}/${path}`),
      ...(left.length === 0 ? {} : { error: left.join('\n') }),
    };
  } catch (error) {
    return { canRewind: false, error: errorText(error) };
  }
}

/** Our id of the message that a client knows by its own, or by the one that it was told. */
async function messageOf(uuid: string, sessionId: string, { journal }: Opened['kept']): Promise<string | null> {
  const fold = rewindFold();
  /** The message that began a run, by the client's id of it. */
  const named = new Map<unknown, number>();
  for await (const event of journal.read(sessionId, 1)) {
    fold.take(event);
    if (event.type === 'run_started') named.set(event.metadata?.['uuid'], event.inputSeq);
  }
  const point = fold
    .points()
    .find(({ messageId, inputSeq }) => uuidOf(sessionId, messageId) === uuid || named.get(uuid) === inputSeq);
  return point?.messageId ?? null;
}
