// @module-tag slow

import type { Blobs, Journal } from '@treadle/core';
import { createSession, defineAgent, memoryBlobs, memoryJournal, openSession } from '@treadle/core';
import { readBlob } from '@treadle/core/ports';
import { logOf, scriptedModel } from '@treadle/testing';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { editFileTool, readFileTool, rewindSession, writeFileTool, type RewindOptions } from '../index.ts';
import { workspace, type Workspace } from '../test-support/workspace.ts';

type Args = Readonly<Record<string, string>>;
const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
const edit = (path: string, old: string, text: string) => ({
  name: 'edit_file',
  arguments: { path, old_text: old, new_text: text },
});

interface World extends Workspace {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** One prompt: the model reads what is there of the files, then calls these tools one after the other. */
  say(text: string, ...calls: readonly { readonly name: string; readonly arguments: Args }[]): Promise<void>;
  rewind(options?: Partial<RewindOptions>): ReturnType<typeof rewindSession>;
  has(path: string): Promise<string | null>;
}

async function world(files: Readonly<Record<string, string>> = {}, blobs: Blobs = memoryBlobs()): Promise<World> {
  const place = await workspace(files);
  const journal = memoryJournal();
  const tools = [readFileTool, writeFileTool, editFileTool].map((tool) => tool({ root: place.root }));
  const permissions = { mode: 'bypass', allowBypass: true } as const;
  await createSession(defineAgent({ model: scriptedModel([]), tools }), { id: 's', journal });
  return {
    ...place,
    journal,
    blobs,
    async say(text, ...calls) {
      const known = calls
        .map((call) => call.arguments['path'] ?? '')
        .filter((path) => existsSync(join(place.root, path)));
      const reads = { toolCalls: known.map((path) => ({ name: 'read_file', arguments: { path } })) };
      const turns = [...(known.length === 0 ? [] : [reads]), ...calls.map((call) => ({ toolCalls: [call] })), 'Done.'];
      const model = scriptedModel(turns);
      const session = await openSession(defineAgent({ model, tools, permissions }), 's', { journal, blobs });
      expect((await session.prompt(text).result).status).toBe('completed');
    },
    rewind: (options) => rewindSession({ journal, sessionId: 's', blobs, roots: [place.root], ...options }),
    has: (path) => readFile(join(place.root, path), 'utf8').catch(() => null),
  };
}

const actions = ({ files }: Awaited<ReturnType<typeof rewindSession>>) =>
  Object.fromEntries(files.map(({ path, action }) => [path, action]));

describe('before a file tool changes a file', { tags: ['share'] }, () => {
  it('keeps what it held, or that it was not there, once per prompt', async () => {
    const { say, journal, blobs } = await world({ 'a.txt': 'one\n' });
    await say('Go.', edit('a.txt', 'one', 'two'), edit('a.txt', 'two', 'three'), write('b/new.txt', 'new'));
    await say('Again.', edit('a.txt', 'three', 'four'));
    const events = (await logOf(journal, 's')).filter(
      (event) =>
        /^(tool_started|file_ch|tool_ended)/.test(event.type) &&
        !('toolName' in event && event.toolName === 'read_file'),
    );
    expect(events.map(({ type }) => type)).toEqual(
      Array.from({ length: 4 }, () => ['tool_started', 'file_checkpointed', 'tool_ended']).flat(),
    );
    const kept = events.flatMap((event) => (event.type === 'file_checkpointed' ? [event] : []));
    expect(kept.map(({ path, before }) => [path, before === undefined ? 'known' : before?.size])).toEqual([
      ['a.txt', 4],
      ['a.txt', 'known'],
      ['b/new.txt', undefined],
      ['a.txt', 6],
    ]);
    expect(Buffer.from(await readBlob(blobs, kept[3]?.before?.id ?? '')).toString()).toBe('three\n');
    expect(kept[2]?.before).toBeNull();
  });

  it('leaves the file alone when what it held can not be kept', async () => {
    const full: Blobs = { ...memoryBlobs(), put: () => Promise.reject(new Error('the disk is full')) };
    const { say, has, journal } = await world({ 'a.txt': 'one' }, full);
    await say('Go.', write('a.txt', 'two'));
    expect(await has('a.txt')).toBe('one');
    expect(JSON.stringify(await logOf(journal, 's'))).toContain('could not be kept for a rewind');
  });
});

describe('rewindSession', () => {
  it('brings files back to any message, and the conversation in a fork', async () => {
    const start = { 'a.txt': 'a0', 'kept.txt': 'k' };
    for (const [to, expected, said] of [
      [1, { 'a.txt': 'a0', 'new.txt': null }, 0],
      [2, { 'a.txt': 'a1', 'new.txt': null }, 1],
      [3, { 'a.txt': 'a2', 'new.txt': 'n2' }, 2],
    ] as const) {
      const { say, rewind, has, journal } = await world(start);
      await say('First.', write('a.txt', 'a1'));
      await say('Second.', edit('a.txt', 'a1', 'a2'), write('new.txt', 'n2'));
      await say('Third.', write('a.txt', 'a3'), edit('new.txt', 'n2', 'n3'));
      const before = await logOf(journal, 's');
      const dry = await rewind({ to, dryRun: true });
      expect([await has('a.txt'), await has('new.txt')]).toEqual(['a3', 'n3']);
      expect(await logOf(journal, 's')).toEqual(before);
      const report = await rewind({ to });
      expect(report.files).toEqual(dry.files);
      for (const [path, content] of Object.entries(expected)) expect(await has(path)).toBe(content);
      expect(await has('kept.txt')).toBe('k');
      expect((await logOf(journal, 's')).slice(0, before.length)).toEqual(before);
      const fork = await openSession(defineAgent({ model: scriptedModel([]) }), report.sessionId ?? '', { journal });
      expect(fork.messages.filter(({ role }) => role === 'user')).toHaveLength(said);
      expect(fork.status).toBe('idle');
    }
  });

  it('does only what it is told to', { tags: ['share'] }, async () => {
    const { say, rewind, has, journal } = await world({ 'a.txt': 'a0' });
    await say('Go.', write('a.txt', 'a1'));
    expect(await rewind({ what: 'conversation' })).toMatchObject({
      files: [],
      sessionId: expect.any(String) as string,
    });
    expect(await has('a.txt')).toBe('a1');
    expect(await rewind({ what: 'files' })).toMatchObject({ files: [{ action: 'restore' }], sessionId: null });
    expect(await has('a.txt')).toBe('a0');
    expect((await journal.list()).sessions).toHaveLength(2);
  });

  it('can be rewound itself, and done twice', async () => {
    const { say, rewind, has } = await world({ 'a.txt': 'a0' });
    await say('First.', write('a.txt', 'a1'));
    await say('Second.', write('a.txt', 'a2'));
    await rewind({ to: 1, what: 'files' });
    expect(await has('a.txt')).toBe('a0');
    expect(actions(await rewind({ to: 1, what: 'files' }))).toEqual({ 'a.txt': 'none' });
    await say('Third.', write('a.txt', 'a3'));
    await rewind({ to: 3, what: 'files' });
    expect(await has('a.txt')).toBe('a0');
    await rewind({ to: 2, what: 'files' });
    expect(await has('a.txt')).toBe('a1');
  });

  it('reports what somebody else has changed, and leaves it alone', async () => {
    const { say, rewind, has, root } = await world({ 'a.txt': 'a0', 'b.txt': 'b0', 'c.txt': 'c0' });
    await say('Go.', write('a.txt', 'a1'), write('b.txt', 'b1'), write('c.txt', 'c1'), write('new.txt', 'n1'));
    await writeFile(join(root, 'a.txt'), 'mine');
    await rm(join(root, 'b.txt'));
    await writeFile(join(root, 'new.txt'), 'mine too');
    const report = await rewind({ what: 'files' });
    expect(actions(report)).toEqual({
      'a.txt': 'changed',
      'b.txt': 'changed',
      'c.txt': 'restore',
      'new.txt': 'changed',
    });
    expect(report.files[0]?.message).toContain('somebody else');
    expect([await has('a.txt'), await has('b.txt'), await has('c.txt'), await has('new.txt')]).toEqual([
      'mine',
      null,
      'c0',
      'mine too',
    ]);
  });

  it('T20: restores nothing through links, nor in folders that it was not given', { tags: ['share'] }, async () => {
    const { say, rewind, root, outside, has } = await world({ 'a.txt': 'a0', 'd/b.txt': 'b0', 'in.txt': 'in' });
    await say(
      'Go.',
      write('a.txt', 'in'),
      write('d/b.txt', 'SECRET outside\n'),
      write('d/secret.txt', 'SECRET outside\n'),
    );
    await rm(join(root, 'a.txt'));
    await symlink('in.txt', join(root, 'a.txt'));
    await rename(join(root, 'd'), join(root, 'was-d'));
    await symlink(outside, join(root, 'd'));
    const report = await rewind({ what: 'files' });
    expect(actions(report)).toEqual({ 'a.txt': 'changed', 'd/b.txt': 'refused', 'd/secret.txt': 'refused' });
    expect(await has('in.txt')).toBe('in');
    expect(await readdir(outside)).toEqual(['secret.txt']);
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('SECRET outside\n');
    await mkdir(join(root, 'elsewhere'));
    expect(new Set(Object.values(actions(await rewind({ what: 'files', roots: [join(root, 'elsewhere')] }))))).toEqual(
      new Set(['refused']),
    );
  });

  it('T25: died in the middle, it has left each file old or new, and doing it again finishes it', async () => {
    const paths = ['a.txt', 'b.txt', 'c.txt'];
    for (let died = 0; died <= paths.length; died += 1) {
      const { say, rewind, has, blobs } = await world({ 'a.txt': 'old', 'b.txt': 'old' });
      await say('Go.', ...paths.map((path) => write(path, 'new')));
      let reads = 0;
      // The process is gone from the n-th file on: nothing of it is read any more.
      const dying: Blobs = {
        ...blobs,
        read: (id) => {
          if (reads++ >= died) throw new Error('killed');
          return blobs.read(id);
        },
      };
      await rewind({ what: 'files', blobs: dying });
      for (const path of paths) expect(['old', 'new', null]).toContain(await has(path));
      await rewind({ what: 'files' });
      expect([await has('a.txt'), await has('b.txt'), await has('c.txt')]).toEqual(['old', 'old', null]);
    }
  });

  it('a call that failed has changed nothing, and one that died may have', async () => {
    const { say, rewind, has, journal, root } = await world({ 'a.txt': 'a0' });
    await say('Go.', write('a.txt', 'a1'));
    // As a process leaves it that died between the event and the change.
    const claim = await journal.claim('s', { id: 'x', label: 'x' });
    const events = await logOf(journal, 's');
    const last = events.find((event) => event.type === 'file_checkpointed');
    if (last?.type !== 'file_checkpointed') throw new Error('no checkpoint');
    const { seq: _, before: __, ...intent } = last;
    await journal.append('s', claim.epoch, events.length, [
      { ...intent, callId: 'died', after: `sha256-${'0'.repeat(64)}` },
    ]);
    await claim.release();
    expect(actions(await rewind({ what: 'files', dryRun: true }))).toEqual({ 'a.txt': 'restore' });
    await writeFile(join(root, 'a.txt'), 'else');
    expect(actions(await rewind({ what: 'files' }))).toEqual({ 'a.txt': 'changed' });
    expect(await has('a.txt')).toBe('else');
  });

  it('says what there is to go back to, and that it needs blobs', async () => {
    const { say, rewind, journal } = await world({ 'a.txt': 'a0' });
    await expect(rewind()).rejects.toMatchObject({ code: 'nothing_to_continue', message: /It has none/ });
    await say('Go.', write('a.txt', 'a1'));
    await expect(rewind({ to: 2 })).rejects.toMatchObject({ message: expect.stringContaining('1 to 1') as string });
    const bare = { journal, sessionId: 's' };
    expect(await rewindSession({ ...bare, what: 'conversation' })).toMatchObject({ to: { number: 1, text: 'Go.' } });
    await expect(rewind({ sessionId: 'none' })).rejects.toMatchObject({ code: 'session_not_found' });
    const claim = await journal.claim('s', { id: 'x', label: 'somebody' });
    await expect(rewind()).rejects.toMatchObject({ code: 'session_busy' });
    await claim.release();
  });
});
