import type { Message } from '@treadle/core';
import { mkdtempSync, rmSync } from 'node:fs';
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Sessions whose files are kept; the one that was told of longest ago makes room. */
const MOST_KEPT = 32;

interface Kept {
  readonly path: string;
  /** The messages that are in the file. */
  count: number;
  first: Message | undefined;
  last: Message | undefined;
  /** Resolves when nothing is being written. */
  idle: Promise<void>;
}

const kept = new Map<string, Kept>();
let folder: string | undefined;
let made = 0;

/** Only this user can read it. It goes with the process. */
function folderOfProcess(): string {
  if (folder !== undefined) return folder;
  const path = mkdtempSync(join(tmpdir(), 'treadle-hooks-'));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  folder = path;
  return path;
}

const linesOf = (messages: readonly Message[]): string =>
  messages.map((message) => `${JSON.stringify({ type: message.role, message })}\n`).join('');

/**
 * A session's conversation in a file: a JSON object per line, with the message's role as `type`. Only new messages are
 * written, unless older ones have changed.
 */
export async function transcriptFile(sessionId: string, messages: readonly Message[]): Promise<string> {
  const file = kept.get(sessionId) ?? newFile();
  // The newest stands last in the map.
  kept.delete(sessionId);
  kept.set(sessionId, file);
  file.idle = file.idle.catch(() => {}).then(() => write(file, messages));
  await file.idle;
  for (const [oldest, { path }] of kept) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(oldest);
    await rm(path, { force: true });
  }
  return file.path;
}

function newFile(): Kept {
  made += 1;
  const path = join(folderOfProcess(), `${made}-transcript.jsonl`);
  return { path, count: 0, first: undefined, last: undefined, idle: Promise.resolve() };
}

async function write(file: Kept, messages: readonly Message[]): Promise<void> {
  const isLonger = file.count > 0 && messages[0] === file.first && messages[file.count - 1] === file.last;
  if (isLonger) {
    if (messages.length > file.count) await appendFile(file.path, linesOf(messages.slice(file.count)));
  } else {
    // A command that reads the file keeps what it has opened.
    await writeFile(`${file.path}.new`, linesOf(messages));
    await rename(`${file.path}.new`, file.path);
  }
  file.count = messages.length;
  file.first = messages[0];
  file.last = messages.at(-1);
}

/** The conversation of a sub-agent that has ended, in a file until `remove` is called. */
export async function writeTranscript(
  messages: readonly Message[],
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'treadle-hooks-'));
  const path = join(home, 'transcript.jsonl');
  await writeFile(path, linesOf(messages));
  return { path, remove: () => rm(home, { recursive: true, force: true }) };
}
