// Rewinds a session, and kills itself at one of its calls of the file system: before it, after it, or with half of it done.
import { memoryBlobs, memoryJournal, type Blobs, type DurableEvent, type Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { FileHandle } from 'node:fs/promises';
import { rewindSession } from '../rewind/rewind.ts';

/** What it is told to begin with. */
export interface RewindTask {
  readonly root: string;
  readonly log: readonly DurableEvent[];
  /** Contents, in base64. */
  readonly blobs: readonly string[];
  /** Which of its moments to die at, from 0; null to live. */
  readonly deathAt: number | null;
}

/** What it tells, and waits with until it is heard: what is durable when it dies. */
export type RewindNews =
  | { readonly type: 'blob'; readonly content: string }
  | { readonly type: 'events'; readonly events: readonly DurableEventBody[] }
  | { readonly type: 'done'; readonly moments: readonly string[] };

const told = (news: RewindNews): Promise<void> =>
  new Promise((resolve) => {
    process.once('message', () => resolve());
    process.send?.(news);
  });

const task = await new Promise<RewindTask>((resolve) => {
  process.once('message', (message) => resolve(message as RewindTask));
});

const moments: string[] = [];

function pass(moment: string): void {
  if (moments.length === task.deathAt) process.kill(process.pid, 'SIGKILL');
  moments.push(moment);
}

type Call = (...args: unknown[]) => unknown;

/** Puts a moment before and after each call of a function. Written content has one in its middle. */
function watch(owner: Record<string, unknown>, name: string): void {
  const original = owner[name] as Call;
  owner[name] = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
    pass(`before ${name}`);
    if (name === 'writeFile' && moments.length === task.deathAt) {
      const [content] = args as [Uint8Array];
      await original.call(this, content.subarray(0, content.length / 2));
    }
    if (name === 'writeFile') pass('amid writeFile');
    const value = await original.apply(this, args);
    pass(`after ${name}`);
    return value;
  };
}

const files = createRequire(import.meta.url)('node:fs/promises') as Record<string, unknown> & {
  open(path: string): Promise<FileHandle>;
};
const handle = await files.open('/dev/null');
const handles = Object.getPrototypeOf(handle) as Record<string, unknown>;
await handle.close();
const blobs = memoryBlobs();
for (const content of task.blobs) await blobs.put(Buffer.from(content, 'base64'));
const kept: Blobs = {
  ...blobs,
  async put(content, options) {
    const parts: Uint8Array[] = [];
    for await (const part of content instanceof Uint8Array ? [content] : content) parts.push(Buffer.from(part));
    const whole = Buffer.concat(parts);
    await told({ type: 'blob', content: whole.toString('base64') });
    return blobs.put(whole, options);
  },
};
const journal = memoryJournal();
const [created, ...rest] = task.log;
if (created?.type !== 'session_created') throw new Error('no log');
await journal.create('s', created);
const claim = await journal.claim('s', { id: 'before', label: 'before' });
await journal.append('s', claim.epoch, 1, rest);
await claim.release();
const written: Journal = {
  ...journal,
  async append(sessionId, epoch, expectedSeq, events) {
    const outcome = await journal.append(sessionId, epoch, expectedSeq, events);
    if (outcome.ok) await told({ type: 'events', events });
    return outcome;
  },
};
for (const name of ['open', 'rename', 'unlink', 'lstat', 'mkdir']) watch(files, name);
for (const name of ['writeFile', 'chmod', 'sync', 'close']) watch(handles, name);
syncBuiltinESMExports();
await rewindSession({ journal: written, blobs: kept, sessionId: 's', roots: [task.root], what: 'files' });
await told({ type: 'done', moments });
process.disconnect();
