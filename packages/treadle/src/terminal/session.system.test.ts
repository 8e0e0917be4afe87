import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { forbidden } from '../test-support/emulator.ts';
import { temporaryFolder } from '../test-support/harness.ts';
import { startInTerminal } from '../test-support/terminal-process.ts';

const COUNT = 'How many files are in this folder?';
const STATUS = /demo\/demo-1 · default/;

const times = (text: string, what: string): number => text.split(what).length - 1;

/** The drafts that were kept in this home. */
async function draftsIn(home: string): Promise<string> {
  const folder = join(home, '.treadle/drafts');
  const names = await readdir(folder).catch(() => []);
  const texts = names
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFile(join(folder, name), 'utf8').catch(() => ''));
  return (await Promise.all(texts)).join('\n');
}

describe('treadle at a terminal', () => {
  it('1: shows one line, the input line and a status row, and writes nothing while nobody types', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal([], { cwd: folder.path });
    await terminal.shows(STATUS);
    const lines = (await terminal.emulator.lines()).filter((line) => line !== '');
    expect(lines).toMatchObject(
      [/^treadle .* · demo/, /^>$/, STATUS].map((row) => expect.stringMatching(row) as unknown as object),
    );
    const writes = terminal.emulator.writes();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(terminal.emulator.writes()).toBe(writes);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('answers a prompt, keeps the session and shows the same when it is opened again', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'a.txt'), 'tides\n');
    await using terminal = startInTerminal([], { cwd: folder.path });
    await terminal.shows(STATUS);
    terminal.type(`${COUNT}\r`);
    const before = await terminal.shows(/2 turns · /);
    expect(times(before, COUNT)).toBe(1);
    terminal.type('\u0004');
    expect(await terminal.ended).toBe(0);
    // Its modes are off, and then it says how to go on.
    const [, end = ''] = terminal.emulator.raw().split('\u001b[?2004l\u001b[?25h');
    expect(end).toMatch(/^Session \w+ is kept: treadle -r \w+ goes on with it\.\r\n$/);
    await using again = startInTerminal(['-c'], { cwd: folder.path });
    const after = await again.shows(/2 turns · /);
    const transcript = (text: string): string => text.slice(text.indexOf(`> ${COUNT}`), text.indexOf(' turns · '));
    expect(transcript(after)).toBe(transcript(before));
    expect(forbidden(again.emulator.raw())).toEqual([]);
  });

  it('9: asks before a file is written, and tells the model why not', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal([], { cwd: folder.path });
    await terminal.shows(STATUS);
    terminal.type('Create notes/a.md with the text "hello"\r');
    const asked = await terminal.shows(/4 {2}no, and say why/);
    expect(asked).toContain('+hello');
    await new Promise((resolve) => setTimeout(resolve, 400));
    terminal.type('x');
    await terminal.shows('Keys go to your draft.');
    terminal.type('\u007f');
    await new Promise((resolve) => setTimeout(resolve, 400));
    terminal.type('4');
    await terminal.shows(/No, because:/);
    terminal.type('not now\r');
    await terminal.shows(/refused · by you: not now/);
    await terminal.shows(/ turns? · /);
    await expect(readFile(join(folder.path, 'notes/a.md'))).rejects.toThrow('ENOENT');
  });

  it('10: asks again after a kill, with the draft, and runs the call once', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal([], { cwd: folder.path });
    await terminal.shows(STATUS);
    terminal.type('Create notes/a.md with the text "hello"\r');
    await terminal.shows(/4 {2}no, and say why/);
    terminal.type('a draft');
    await terminal.shows(/^> a draft/m);
    await expect.poll(() => draftsIn(folder.path)).toContain('"a draft"');
    terminal.kill('SIGKILL');
    await terminal.ended;
    await using again = startInTerminal(['-c'], { cwd: folder.path });
    const asked = await again.shows(/4 {2}no, and say why[^]*> a draft/);
    expect(asked).toContain('+hello');
    await new Promise((resolve) => setTimeout(resolve, 400));
    again.type('1');
    const after = await again.shows(/ turns? · /);
    expect(after).toMatch(/allowed\s+by\s+you/);
    expect(await readFile(join(folder.path, 'notes/a.md'), 'utf8')).toBe('hello');
  });

  it('11: takes the question away when another terminal answers it, and says who did', async () => {
    await using folder = await temporaryFolder();
    await using first = startInTerminal([], { cwd: folder.path });
    await first.shows(STATUS);
    first.type('Create notes/a.md with the text "hello"\r');
    await first.shows(/4 {2}no, and say why/);
    await using second = startInTerminal(['-c'], { cwd: folder.path });
    await second.shows(/4 {2}no, and say why/);
    await new Promise((resolve) => setTimeout(resolve, 400));
    second.type('1');
    expect(await second.shows(/ turns? · /)).toMatch(/allowed\s+by\s+you/);
    const seen = await first.shows(/ turns? · /);
    expect(seen).toMatch(/allowed\s+by\s+treadle,\s+process/);
    expect(seen).not.toContain('no, and say why');
    first.type('1');
    await first.shows(/^> 1/m);
    expect(times(seen, 'created, 5 bytes')).toBe(1);
  });

  it('goes back to before a message, with its files', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal(['--cwd', '.'], { cwd: folder.path });
    await terminal.shows(STATUS);
    terminal.type('Create notes/a.md with the text "hello"\r');
    await terminal.shows(/ turns? · /);
    terminal.type('/rewind\r');
    await terminal.shows(/Go back to before which message/);
    terminal.type('\r');
    await terminal.shows(/Do it\? \[y\/n\]/);
    terminal.type('y\r');
    await terminal.shows(/Went back[^]*> Create notes/);
    await expect(readFile(join(folder.path, 'notes/a.md'))).rejects.toThrow('ENOENT');
  });

  it('14: puts a draft aside at Ctrl+C, and leaves at the second one', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal([], { cwd: folder.path });
    await terminal.shows(STATUS);
    terminal.type('a draft');
    await terminal.shows(/^> a draft/m);
    terminal.type('\u0003');
    await terminal.shows(/put aside/);
    terminal.type('\u001b[A');
    await terminal.shows(/^> a draft/m);
    terminal.type('\u0003');
    await terminal.shows(/put aside/);
    terminal.type('\u0003');
    await terminal.shows(/again leaves/);
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(0);
  });
});
