import { createSession, defineAgent, memoryJournal, promoteBranch, runBranches, type Agent } from '@treadle/core';
import { chosenBy, type BranchConfig } from '@treadle/core/branches';
import { scriptedModel } from '@treadle/testing';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { readFileTool, writeFileTool } from '../file-tools.ts';
import { folderCopies } from './folder-copies.ts';

let base: string;
let root: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'treadle-copies-'));
  root = join(base, 'project');
  mkdirSync(join(root, 'src', 'deep'), { recursive: true });
  writeFileSync(join(root, 'a.txt'), 'original');
  writeFileSync(join(root, 'src', 'bytes.bin'), Buffer.from([0, 255, 10, 13, 0]));
  writeFileSync(join(root, 'src', 'deep', 'old.txt'), 'old');
  symlinkSync('a.txt', join(root, 'link'));
  writeFileSync(join(root, 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(root, 'run.sh'), 0o755);
});
afterEach(() => rmSync(base, { recursive: true }));

/** All of a folder: each path with its kind, its mode and its bytes. */
function all(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below))
    .toSorted()
    .flatMap((name) => {
      const path = join(below, name);
      const found = lstatSync(join(folder, path));
      if (found.isDirectory()) return [`${path}/`, ...all(folder, path)];
      if (found.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(folder, path))}`];
      return [`${path} ${(found.mode & 0o777).toString(8)} ${readFileSync(join(folder, path)).toString('base64')}`];
    });
}

describe('a copy of a folder', () => {
  it('is equal to it, and what changes in one does not change the other', async () => {
    const copies = folderCopies({ root });
    const { folder } = await copies.open('one');
    expect(all(folder)).toEqual(all(root));
    writeFileSync(join(folder, 'a.txt'), 'changed');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('original');
    expect((await copies.open('one')).folder).toBe(folder);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('changed');
    expect((await copies.open('two')).folder).not.toBe(folder);
  });

  it('is merged: changed, new, removed, renamed kinds, links and modes, byte for byte', async () => {
    const copies = folderCopies({ root });
    const { folder } = await copies.open('one');
    writeFileSync(join(folder, 'a.txt'), 'changed!');
    writeFileSync(join(folder, 'src', 'bytes.bin'), Buffer.from([0, 255, 10, 13, 1]));
    rmSync(join(folder, 'src', 'deep'), { recursive: true });
    writeFileSync(join(folder, 'src', 'deep'), 'a file now');
    rmSync(join(folder, 'link'));
    symlinkSync('src', join(folder, 'link'));
    chmodSync(join(folder, 'run.sh'), 0o644);
    mkdirSync(join(folder, 'new'));
    writeFileSync(join(folder, 'new', 'b.txt'), 'b');
    writeFileSync(join(root, 'stray.txt'), 'written meanwhile');
    await copies.merge('one');
    expect(all(root)).toEqual(all(folder));
    await copies.merge('one');
    expect(all(root)).toEqual(all(folder));
  });

  it('that was merged amid a death is merged again, to the same', async () => {
    const copies = folderCopies({ root });
    const { folder } = await copies.open('one');
    writeFileSync(join(folder, 'a.txt'), 'changed');
    // What a process leaves that died while it replaced a file.
    writeFileSync(join(root, 'a.txt.1234.part'), 'chan');
    await copies.merge('one');
    expect(all(root)).toEqual(all(folder));
  });

  it('is refused inside the root, and where there is no root', async () => {
    expect(() => folderCopies({ root, folder: join(root, 'copies') })).toThrow("can't be kept inside");
    expect(() => folderCopies({ root: join(base, 'missing') })).toThrow('is not there');
    await expect(folderCopies({ root }).merge('unknown')).rejects.toThrow('no copy');
  });
});

describe('branches that write files', () => {
  const writing = (place: number): BranchConfig => ({
    configId: `w${place}`,
    agent: ({ folder }): Agent =>
      defineAgent({
        configId: `w${place}`,
        model: scriptedModel([
          {
            toolCalls: [
              { name: 'write_file', arguments: { path: `out-${place}.txt`, content: `by ${place}` } },
              { name: 'read_file', arguments: { path: 'a.txt' } },
            ],
          },
          { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: `changed by ${place}` } }] },
          `I am ${place}.`,
        ]),
        tools: folder === null ? [] : [readFileTool({ root: folder }), writeFileTool({ root: folder })],
        permissions: { mode: 'acceptEdits' },
      }),
  });

  it('merge the winner byte for byte, leave the losers as they are, and any of them can be promoted', async () => {
    const copies = folderCopies({ root });
    const branches = [0, 1, 2, 3].map((place) => writing(place));
    const session = await createSession(defineAgent({ model: scriptedModel([]) }), { journal: memoryJournal() });
    const run = runBranches(session, { branches, prompt: 'Write.', copies, strategy: chosenBy(() => 2) });
    const { text, status } = await run.result;
    expect([status, text]).toEqual(['completed', 'I am 2.']);
    const folders = (await run.outcomes).map(({ folder }) => folder ?? '');
    expect(all(root)).toEqual(all(folders[2] ?? ''));
    expect(readFileSync(join(root, 'out-2.txt'), 'utf8')).toBe('by 2');
    for (const place of [0, 1, 3]) {
      expect(existsSync(join(root, `out-${place}.txt`))).toBe(false);
      expect(readFileSync(join(folders[place] ?? '', 'a.txt'), 'utf8')).toBe(`changed by ${place}`);
    }
    expect(JSON.stringify(session.messages)).toContain('out-2.txt');

    const [first] = await run.outcomes;
    await promoteBranch(session, first?.sessionId ?? '', { copies });
    expect(all(root)).toEqual(all(folders[0] ?? ''));
    expect(JSON.stringify(session.messages)).toContain('out-0.txt');
    expect(JSON.stringify(session.messages)).not.toContain('out-2.txt');
  });
});
