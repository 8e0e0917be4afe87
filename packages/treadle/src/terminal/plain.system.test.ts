import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../test-support/harness.ts';
import { bin } from '../test-support/process.ts';
import { startInTerminal } from '../test-support/terminal-process.ts';

const COUNT = 'How many files are in this folder?';
const CREATE = 'Create notes/a.md with the text "hello"';
/** A line answers a question once it has been there for a moment. */
const seen = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 400));
/** What isn't printable, but for the ends of lines. */
// oxlint-disable-next-line eslint/no-control-regex -- these are what must not be there
const MOVES = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
/** The emulator's terminal echoes what is typed, so that this is all that the program itself has sent. */
const STYLE = /\u001b\[[\d;]*m/; // oxlint-disable-line eslint/no-control-regex -- colours

describe('19: a terminal that only prints', () => {
  it.each([
    ['--plain', ['--plain'], {}],
    ['TERM=dumb', [], { TERM: 'dumb' }],
    ['ACCESSIBLE=1', [], { ACCESSIBLE: '1' }],
  ])('with %s gets text and newlines, and answers numbered choices by lines', async (_, args, env) => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal(args, { cwd: folder.path, env, columns: 120 });
    await terminal.shows(/^>$/m);
    terminal.type(`${COUNT}\n`);
    await terminal.shows(/ turns? · /);
    terminal.type(`${CREATE}\n`);
    expect(await terminal.shows(/Number:$/)).toMatch(/\+hello[^]*1 {2}yes, once[^]*4 {2}no, and say why/);
    await seen();
    terminal.type('x\n');
    await terminal.shows(/Press 1 to 4[^]*Number:$/);
    await seen();
    terminal.type('1\n');
    await terminal.shows(/allowed by you[^]* turns? · [^]*^>$/m);
    expect(await readFile(join(folder.path, 'notes/a.md'), 'utf8')).toBe('hello');
    terminal.type('/hepl\n');
    await terminal.shows('Did you mean /help?');
    terminal.type('\u0004');
    expect(await terminal.ended).toBe(0);
    expect(terminal.emulator.raw()).not.toMatch(MOVES);
  });

  it('takes words for the choice of a model at the first start', async () => {
    await using folder = await temporaryFolder();
    const env = { TREADLE_MODEL: '', ACCESSIBLE: '1' };
    await using terminal = startInTerminal([], { cwd: folder.path, env, columns: 120 });
    await terminal.shows(/Which model should answer\?\n {2}1 {2}Anthropic[^]*>$/);
    terminal.type('openia\n');
    await terminal.shows("Did you mean 'openai'?");
    terminal.type('demo\n');
    await terminal.shows(/^>$/m);
    terminal.type(`${COUNT}\n`);
    await terminal.shows(/ turns? · /);
  });

  it('prints at most two rows while it waits', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal(['--plain'], { cwd: folder.path, env: { SHELL: '/bin/sh' } });
    await terminal.shows(/^>$/m);
    terminal.type('Run `sleep 5; echo rested`\n');
    await terminal.shows(/Number:$/);
    const before = terminal.emulator.raw().length;
    await seen();
    terminal.type('1\n');
    await terminal.shows(/^ *rested$/m);
    const waited = terminal.emulator.raw().slice(before).split('exit code')[0] ?? '';
    // The answer, the call that started, and the line of the call that ended.
    expect(waited.split('\n').filter((row) => row.trim() !== '')).toHaveLength(3);
    expect(waited).toMatch(/started: .*sleep 5/);
  });

  it('prints no style with NO_COLOR, and keeps its input line', async () => {
    await using folder = await temporaryFolder();
    await using terminal = startInTerminal([], { cwd: folder.path, env: { NO_COLOR: '1' } });
    await terminal.shows(/default/);
    terminal.type(`${CREATE}\r`);
    await terminal.shows(/4 {2}no, and say why/);
    expect(terminal.emulator.raw()).not.toMatch(STYLE);
  });

  it('prints text and newlines into a pipe', async () => {
    await using folder = await temporaryFolder();
    const log = join(folder.path, 'log');
    const script = join(folder.path, 'run.sh');
    await writeFile(script, `"$NODE" "$BIN" "${COUNT}" 2>err | cat >"${log}"; echo over\n`);
    const env = { NODE: process.execPath, BIN: bin };
    await using terminal = startInTerminal([], { cwd: folder.path, command: ['/bin/sh', script], env });
    await terminal.shows('over');
    const text = await readFile(log, 'utf8');
    expect(text).toContain('turns');
    expect(text).not.toMatch(MOVES);
  });
});
