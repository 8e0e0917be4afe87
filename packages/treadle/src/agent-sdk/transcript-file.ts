import type { JsonObject } from '@treadle/core';

import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { PROTOCOL_VERSION } from './protocol-version.ts';
import { claudeFolder } from './settings/sources.ts';

/** A copy of the conversation where the clients' own functions look for sessions. Nothing here reads it. */
export interface TranscriptFile {
  path(sessionId: string): string;
  /** Writes what belongs there. Returns what a client is told of it that keeps a copy itself; null for nothing. */
  add(sessionId: string, message: JsonObject, at: number): JsonObject | null;
}

/** Null where there is no home to keep it in. */
export function transcriptFile(io: Pick<CliIo, 'env'>, folder: string): TranscriptFile | null {
  const own = claudeFolder(io);
  if (own === null) return null;
  const place = join(own, 'projects', folder.replaceAll(/[^A-Za-z0-9]/g, '-'));
  let parentUuid: string | null = null;
  let isMade = false;
  const path = (sessionId: string): string => join(place, `${sessionId}.jsonl`);
  return {
    path,
    add(sessionId, { type, message, uuid, parent_tool_use_id: parent }, at) {
      if ((type !== 'user' && type !== 'assistant') || parent !== null || typeof uuid !== 'string') return null;
      const row = {
        type,
        uuid,
        parentUuid,
        sessionId,
        cwd: folder,
        timestamp: new Date(at).toISOString(),
        version: PROTOCOL_VERSION,
        isSidechain: false,
        message,
      };
      parentUuid = uuid;
      try {
        if (!isMade) mkdirSync(place, { recursive: true, mode: 0o700 });
        isMade = true;
        appendFileSync(path(sessionId), `${JSON.stringify(row)}\n`, { mode: 0o600 });
      } catch {
        // The session itself is kept elsewhere.
        return null;
      }
      return { type: 'transcript_mirror', filePath: path(sessionId), entries: [row] };
    },
  };
}
