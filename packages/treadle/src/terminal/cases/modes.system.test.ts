import { execFileSync } from 'node:child_process';
import process from 'node:process';

import { describe, it } from 'vitest';

import { forbidden, type StyledRun } from '../../test-support/emulator.ts';
import { bin } from '../../test-support/process.ts';
import type { TerminalProcess } from '../../test-support/terminal-process.ts';
import { choose, STATUS, terminalWorld, times } from '../../test-support/terminal-world.ts';

const HAS_KEYS = { '\u001b[?u': '\u001b[?0u' };
const background = (hex: string): Record<string, string> => ({
  '\u001b]11;?\u0007': `\u001b]11;rgb:${hex}/${hex}/${hex}\u001b\\`,
});
const KEYS_ON = '\u001b[>5u';
const KEYS_OFF = '\u001b[<u';
/** A busy machine may take a while to read an answer. */
const SOON = { timeout: 10_000 };
const CYAN = 6;
const BLUE = 4;

/** The colour of the sign before the input line. */
async function promptColour(terminal: TerminalProcess): Promise<number | null | undefined> {
  const runs: StyledRun[] = (await terminal.emulator.styledScreen()).flat();
  return runs.findLast(({ column, text }) => column === 0 && text.startsWith('>'))?.colour;
}

describe.concurrent('keys of a terminal that tells them apart', () => {
  it('makes another line at Shift+Enter, and gives the keys back at the end', async ({ expect }) => {
    await using world = await terminalWorld([]);
    const terminal = world.open([], { answers: HAS_KEYS });
    await terminal.shows(STATUS);
    await expect.poll(() => terminal.emulator.raw(), SOON).toContain(KEYS_ON);
    terminal.type('one\u001b[13;2utwo\u001b[13;3uthree');
    await terminal.shows(/^> one\n {2}two\n {2}three$/m);
    terminal.type('\u001b[99;5u');
    await terminal.shows('put aside');
    terminal.type('\u001b[100;5u');
    expect(await terminal.ended).toBe(0);
    expect(times(terminal.emulator.raw(), KEYS_OFF)).toBe(1);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('switches nothing on where the terminal gives no answer', async ({ expect }) => {
    await using world = await terminalWorld([]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('\u0004');
    await terminal.ended;
    expect(terminal.emulator.raw()).not.toMatch(/\u001b\[[<>]/); // oxlint-disable-line eslint/no-control-regex -- modes
  });

  it('20: gives the keys back while it is suspended, and takes them again after', async ({ expect }) => {
    await using world = await terminalWorld([]);
    const shell = world.open(['--norc', '-i'], { command: ['bash'], env: { PS1: '$ ' }, answers: HAS_KEYS });
    await shell.shows(/^\$$/m);
    shell.type(`${process.execPath} ${bin}\r`);
    await shell.shows(STATUS);
    await expect.poll(() => times(shell.emulator.raw(), KEYS_ON), SOON).toBe(1);
    shell.type('\u001b[122;5u');
    await shell.shows(/Stopped/);
    expect(times(shell.emulator.raw(), KEYS_OFF)).toBe(1);
    shell.type('fg\r');
    await expect.poll(() => times(shell.emulator.raw(), KEYS_ON), SOON).toBe(2);
    shell.type('\u001b[100;5u');
    await expect.poll(() => times(shell.emulator.raw(), KEYS_OFF), SOON).toBe(2);
  });

  it('20: leaves no answer of a slow terminal to the shell', async ({ expect }) => {
    await using world = await terminalWorld([]);
    const slow = { answers: { ...HAS_KEYS, ...background('0000') }, answersAfterMs: 280 };
    const shell = world.open(['--norc', '-i'], { command: ['bash'], env: { PS1: '$ ' }, ...slow });
    await shell.shows(/^\$$/m);
    shell.type(`${process.execPath} ${bin}; echo code $?\r`);
    await shell.shows(/^>$/m);
    shell.type('\u0004');
    await shell.shows(/^code 0\n\$$/m);
    await new Promise((resolve) => setTimeout(resolve, 400));
    shell.type('echo over\r');
    expect(await shell.shows(/^over$/m)).toMatch(/^code 0\n\$ echo over\nover$/m);
  });

  it.for(['SIGTERM', 'SIGUSR2'] as const)('20: gives the keys back at %s', async (signal, { expect }) => {
    const thrower = `data:text/javascript,process.on('SIGUSR2',()=>{throw%20new%20Error('boom')})`;
    await using world = await terminalWorld([]);
    const shell = world.open(['-c', `${process.execPath} ${bin}; echo over`], {
      command: ['bash'],
      env: { NODE_OPTIONS: `--import=${thrower}` },
      answers: HAS_KEYS,
    });
    await shell.shows(STATUS);
    await expect.poll(() => shell.emulator.raw(), SOON).toContain(KEYS_ON);
    process.kill(Number(execFileSync('pgrep', ['-P', String(shell.pid)]).toString()), signal);
    await shell.shows(/^over$/m);
    expect(times(shell.emulator.raw(), KEYS_OFF)).toBe(1);
    expect(shell.emulator.title()).toBe('');
  });
});

describe.concurrent('colours and title', () => {
  it.for([
    ['ffff', BLUE],
    ['1e1e', CYAN],
    ['00', CYAN],
  ] as const)('fit a background of %s, as the terminal says it', async ([hex, colour], { expect }) => {
    await using world = await terminalWorld([]);
    const terminal = world.open([], { answers: background(hex) });
    await terminal.shows(STATUS);
    await expect.poll(() => promptColour(terminal), SOON).toBe(colour);
    expect((await terminal.emulator.lines()).join('\n')).not.toContain('rgb');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('asks no terminal for its background where the environment says the theme', async ({ expect }) => {
    await using world = await terminalWorld([]);
    for (const [env, colour] of [
      [{ COLORFGBG: '0;15' }, BLUE],
      [{ TREADLE_THEME: 'dark', COLORFGBG: '0;15' }, CYAN],
      [{ NO_COLOR: '1' }, null],
    ] as const) {
      const terminal = world.open([], { env, answers: background('8080') });
      await terminal.shows(STATUS);
      expect(await promptColour(terminal)).toBe(colour);
      expect(terminal.emulator.raw()).not.toContain('\u001b]11');
    }
  });

  it('changes them at /theme, whatever the terminal says', async ({ expect }) => {
    await using world = await terminalWorld([]);
    const terminal = world.open([], { answers: background('0000') });
    await terminal.shows(STATUS);
    terminal.type('/theme light\r');
    await terminal.shows('Theme: light.');
    await expect.poll(() => promptColour(terminal), SOON).toBe(BLUE);
    terminal.type('/theme none\r');
    await terminal.shows('Theme: none.');
    await expect.poll(() => promptColour(terminal), SOON).toBe(null);
  });

  it('names the folder in the title, and says there that a question waits', async ({ expect }) => {
    const call = { name: 'write_file', arguments: { path: 'a.md', content: 'a' } };
    await using world = await terminalWorld([{ toolCalls: [call] }, 'Done.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    expect(terminal.emulator.title()).toBe('treadle · project');
    terminal.type('Go\r');
    await terminal.shows('no, and say why');
    expect(terminal.emulator.title()).toMatch(/^waits · treadle · /);
    await choose(terminal, '1');
    await terminal.shows(/ turns? · /);
    expect(terminal.emulator.title()).toMatch(/^treadle · /);
  });
});
