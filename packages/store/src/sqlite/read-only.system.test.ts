// Reads journals on file systems that are really read-only: bubblewrap has to be installed, on a system that lets it work.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession, defineAgent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { sqliteJournal } from '../index.ts';

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-read-only-'));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A journal with one session of one run. With `killed`, whoever wrote it was killed, and the log of the database is beside it. */
async function journalIn(folder: string, killed: boolean): Promise<string> {
  const path = join(folder, 'journal.db');
  if (!killed) {
    const journal = sqliteJournal({ path });
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal, id: 's1' });
    await session.prompt('Hi.').result;
    await journal.close();
    return path;
  }
  run(['write', path], []);
  return path;
}

const program = new URL('../test-support/read-only-process.ts', import.meta.url).pathname;
const node = [process.execPath, '--conditions=treadle-source', program];

/** Runs the program, in a world where nothing can be written with `--ro-bind / /`. */
function run(words: readonly string[], wrapper: readonly string[]): Record<string, unknown> {
  const [command = '', ...args] = [...wrapper, ...node, ...words];
  try {
    return JSON.parse(execFileSync(command, args, { encoding: 'utf8' })) as Record<string, unknown>;
  } catch (error) {
    if ((error as { readonly signal?: unknown }).signal === 'SIGKILL') return {};
    throw error;
  }
}

const READ_ONLY = ['bwrap', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];

describe('on a read-only file system', () => {
  it.each([
    ['that was closed in peace', false],
    ['whose process was killed', true],
  ])('a journal %s can be read, and its sessions can be opened', async (_, killed) => {
    const folder = newFolder();
    const path = await journalIn(folder, killed);
    const names = readdirSync(folder);
    expect(names.includes('journal.db-wal')).toBe(killed);
    const before = readFileSync(path);
    const read = run(['read', path], READ_ONLY);
    expect(read).toMatchObject({
      sessions: ['s1'],
      events: expect.arrayContaining(['session_created', 'run_ended']),
      messages: ['Hi.', 'Hello.'],
      written: { code: 'journal_failed', message: expect.stringContaining("can be read, and can't be written") },
    });
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(folder)).toEqual(names);
  });

  it('a journal that is not there is an error that says why', () => {
    const missing = join(newFolder(), 'none.db');
    expect(run(['read', missing], READ_ONLY)).toMatchObject({ failed: { code: 'journal_failed' } });
  });
});
