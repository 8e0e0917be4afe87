// @module-tag slow

import { createSession, defineAgent, memoryBlobs, memoryJournal, type DurableEvent } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { readBlob } from '@treadle/core/ports';
import { journalOf, logOf, scriptedModel } from '@treadle/testing';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { editFileTool, readFileTool, rewindSession, writeFileTool } from '../index.ts';
import type { RewindNews, RewindTask } from '../test-support/rewind-process.ts';
import { workspace } from '../test-support/workspace.ts';

const big = (letter: string): string => letter.repeat(300_000);
const OLD: Readonly<Record<string, string | null>> = {
  'a.txt': 'old a\n',
  'big.txt': big('o'),
  'folder/b.txt': 'old b\n',
  'made.txt': null,
};
const NEW: Readonly<Record<string, string>> = {
  'a.txt': 'new a\n',
  'big.txt': big('n'),
  'folder/b.txt': 'new b\n',
  'made.txt': 'made\n',
};
const paths = Object.keys(OLD);

/** A session whose tools have changed every file, as its log and the blobs that this names. */
async function changedFiles() {
  const existing = Object.entries(OLD).flatMap(([path, content]) => (content === null ? [] : [[path, content]]));
  const { root } = await workspace(Object.fromEntries(existing) as Record<string, string>);
  const journal = memoryJournal();
  const blobs = memoryBlobs();
  const reads = existing.map(([path = '']) => ({ name: 'read_file', arguments: { path } }));
  const toolCalls = paths.map((path) =>
    path === 'a.txt'
      ? { name: 'edit_file', arguments: { path, old_text: 'old', new_text: 'new' } }
      : { name: 'write_file', arguments: { path, content: NEW[path] ?? '' } },
  );
  const agent = defineAgent({
    model: scriptedModel([{ toolCalls: reads }, { toolCalls }, 'Done.']),
    tools: [readFileTool, writeFileTool, editFileTool].map((tool) => tool({ root })),
    permissions: { mode: 'bypass', allowBypass: true },
  });
  const session = await createSession(agent, { id: 's', journal, blobs });
  expect((await session.prompt('Go.').result).status).toBe('completed');
  const log = await logOf(journal, 's');
  const ids = log.flatMap((event) => (event.type === 'file_checkpointed' && event.before ? [event.before.id] : []));
  const contents = await Promise.all(ids.map(async (id) => Buffer.from(await readBlob(blobs, id)).toString('base64')));
  return { root, log, contents };
}

/** What was durable when the process died, or when it was done. */
interface Outcome {
  readonly events: readonly DurableEventBody[];
  readonly contents: readonly string[];
  /** Null when it was killed. */
  readonly moments: readonly string[] | null;
}

async function rewindElsewhere(task: RewindTask): Promise<Outcome> {
  const program = new URL('../test-support/rewind-process.ts', import.meta.url);
  const child = fork(program, {
    execArgv: ['--conditions=treadle-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const events: DurableEventBody[] = [];
  const contents = [...task.blobs];
  let moments: readonly string[] | null = null;
  child.on('message', (message) => {
    const news = message as RewindNews;
    if (news.type === 'blob') contents.push(news.content);
    else if (news.type === 'events') events.push(...news.events);
    else ({ moments } = news);
    child.send('heard', () => {});
  });
  child.send(task);
  const [code, signal] = await exited;
  expect([code, signal]).toEqual(moments === null ? [null, 'SIGKILL'] : [0, null]);
  return { events, contents, moments };
}

const has = (root: string, path: string): Promise<string | null> =>
  readFile(join(root, path), 'utf8').catch(() => null);

/** Goes on in this process with what the other one has left. */
async function rewindAgain(root: string, log: readonly DurableEvent[], { events, contents }: Outcome): Promise<void> {
  const whole = [...log, ...events.map((event, index) => ({ ...event, seq: log.length + index + 1 }))];
  const blobs = memoryBlobs();
  for (const content of contents) await blobs.put(Buffer.from(content, 'base64'));
  const journal = await journalOf(whole);
  const { files } = await rewindSession({ journal, blobs, sessionId: 's', roots: [root], what: 'files' });
  expect(files.map(({ action }) => action).filter((action) => action === 'changed' || action === 'refused')).toEqual(
    [],
  );
}

/** Numbers that look random, and are the same each time. */
function* chances(): Generator<number, never> {
  for (let state = 20_260; ;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    yield (state >>> 8) / 2 ** 24;
  }
}

describe('a rewind whose process is killed', () => {
  it('T25: leaves each file old or new, whatever it was doing, and is finished by doing it again', async () => {
    const first = await changedFiles();
    const whole = await rewindElsewhere({ root: first.root, log: first.log, blobs: first.contents, deathAt: null });
    for (const path of paths) expect(await has(first.root, path)).toBe(OLD[path]);
    const moments = whole.moments ?? [];
    const writes = moments.flatMap((moment, index) => (moment === 'amid writeFile' ? [index] : []));
    expect(writes).toHaveLength(3);
    const begins = moments.indexOf('before writeFile');
    const chance = chances();
    // One in each stretch of the restore, somewhere in it, and one with a file half written.
    const stretches = Array.from({ length: 7 }, (_, index) => (index + chance.next().value) / 7);
    const deaths = stretches.map((part) => begins + Math.floor(part * (moments.length - begins)));
    const left = { old: 0, new: 0, temporary: 0 };
    for (const deathAt of [...deaths, writes[1] ?? 0]) {
      const { root, log, contents } = await changedFiles();
      const outcome = await rewindElsewhere({ root, log, blobs: contents, deathAt });
      expect(outcome.moments).toBeNull();
      // The log says what was going to be done before anything is.
      expect(outcome.events.map(({ type }) => type)).toEqual(['files_rewound']);
      for (const path of paths) {
        const content = await has(root, path);
        expect([OLD[path], NEW[path]], `${path}, killed at ${deathAt}: ${moments[deathAt]}`).toContain(content);
        left[content === OLD[path] ? 'old' : 'new'] += 1;
      }
      const others = (await readdir(root)).filter((name) => name.startsWith('.treadle-'));
      expect(others.length).toBeLessThanOrEqual(1);
      left.temporary += others.length;
      await rewindAgain(root, log, outcome);
      for (const path of paths) expect(await has(root, path)).toBe(OLD[path]);
    }
    // Some died early and some late, and some amid a write.
    for (const count of Object.values(left)) expect(count).toBeGreaterThan(1);
  }, 120_000);
});
