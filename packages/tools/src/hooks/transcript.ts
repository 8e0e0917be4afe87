import type { Message } from '@treadle/core';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A conversation in a file that only this user can read: a JSON object per line, with the message's role as `type`. */
export async function writeTranscript(
  messages: readonly Message[],
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'treadle-hook-'));
  const path = join(folder, 'transcript.jsonl');
  await writeFile(path, messages.map((message) => `${JSON.stringify({ type: message.role, message })}\n`).join(''));
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
