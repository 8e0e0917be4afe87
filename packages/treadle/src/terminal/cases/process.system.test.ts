import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { bin } from '../../test-support/process.ts';
import { STATUS, terminalWorld, times } from '../../test-support/terminal-world.ts';

const TREADLE = `${process.execPath} ${bin}`;
/** The process that a shell has started. */
const childOf = (pid: number): number =>
  Number(
    execFileSync('pgrep', ['-P', String(pid)])
      .toString()
      .trim(),
  );
/** Processes whose command has this text. */
const running = (text: string): number => spawnSync('pgrep', ['-f', text]).stdout.toString().split('\n').length - 1;
/** Nothing is left on: the last word on each mode is "off", and the cursor is visible. */
const MODES_ARE_OFF = /\u001b\[\?2004l\u001b\[\?25h(?![^]*\u001b\[\?(?:2004h|1004h|25l|1049h))/; // oxlint-disable-line eslint/no-control-regex -- modes
const HANGING = { text: 'One moment', waitAfter: { deltas: 1, until: new Promise<never>(() => {}) } };

describe.concurrent('the process at its terminal', () => {
  it('20: gives the terminal back at Ctrl+Z, and draws again after fg at another size', async ({ expect }) => {
    await using world = await terminalWorld(['Hello.']);
    const shell = world.open(['--norc', '-i'], { command: ['bash'], env: { PS1: '$ ' } });
    await shell.shows(/^\$$/m);
    shell.type(`stty -g > before; ${TREADLE}\r`);
    await shell.shows(STATUS);
    // After a run, nothing goes on that would keep the process.
    shell.type('Hi\r');
    await shell.shows(/1 turn · /);
    shell.type('a draft');
    await shell.shows('> a draft');
    shell.type('\u001a');
    await shell.shows(/Stopped/);
    expect(shell.emulator.raw().replace(/\u001b\[\?2004h\$ $/, '')).toMatch(/\u001b\[\?2004l\u001b\[\?25h/); // oxlint-disable-line eslint/no-control-regex -- modes
    shell.type('stty -g > during\r');
    await expect.poll(() => world.read('during').catch(() => '')).toBe(await world.read('before'));
    await shell.resize(60, 30);
    shell.type('fg\r');
    await shell.shows(/fg\n[^]*> a draft\nanthropic/);
    shell.type('!');
    await shell.shows('> a draft!');
    shell.type('\u0003');
    await shell.shows('put aside');
    shell.type('\u0004');
    await shell.shows(/\n\$$/);
    shell.type('stty -g > after\r');
    await expect.poll(() => world.read('after').catch(() => '')).toBe(await world.read('before'));
  });

  it.for([
    ['SIGHUP', 129],
    ['SIGTERM', 143],
    ['SIGUSR2', 1],
  ] as const)('20: leaves the terminal as it was at %s', async ([signal, code], { expect }) => {
    const thrower = `data:text/javascript,process.on('SIGUSR2',()=>{throw%20new%20Error('boom')})`;
    await using world = await terminalWorld([HANGING]);
    const script = `trap '' HUP; stty -g > before; ${TREADLE}; echo code $?; stty -g > after; echo over`;
    const shell = world.open(['-c', script], { command: ['bash'], env: { NODE_OPTIONS: `--import=${thrower}` } });
    await shell.shows(STATUS);
    shell.type('Go\r');
    await shell.shows('One moment');
    process.kill(childOf(shell.pid), signal);
    const shown = await shell.shows(/^over$/m);
    expect(shown).toContain(`code ${code}`);
    if (signal === 'SIGUSR2') expect(shown).toContain('Error: boom');
    expect(await world.read('after')).toBe(await world.read('before'));
    expect(shell.emulator.raw()).toMatch(MODES_ARE_OFF);
    expect(forbidden(shell.emulator.raw())).toEqual([]);
  });

  it('14: leaves a run that hangs at the second Ctrl+C, with no process behind', async ({ expect }) => {
    const mark = randomUUID();
    const command = `: ${mark}; trap '' TERM INT HUP; echo > started; while :; do sleep 0.1; done`;
    await using world = await terminalWorld([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, HANGING]);
    const terminal = world.open(['--allow', 'bash']);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await expect.poll(() => world.read('started').catch(() => ''), { timeout: 10_000 }).not.toBe('');
    expect(running(mark)).toBeGreaterThan(0);
    terminal.type('\u0003');
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(130);
    expect(running(mark)).toBe(0);
    expect(terminal.emulator.raw()).toMatch(MODES_ARE_OFF);
  });

  it('names the model that was chosen, from the first line on', async ({ expect }) => {
    await using world = await terminalWorld([]);
    await mkdir(join(world.home, '.config/treadle'), { recursive: true });
    await writeFile(join(world.home, '.config/treadle/login.json'), JSON.stringify({ model: 'anthropic/x' }), {
      mode: 0o600,
    });
    const terminal = world.open([], { env: { TREADLE_MODEL: '' } });
    const shown = await terminal.shows(STATUS);
    expect(shown).toMatch(/^treadle \S+ · anthropic\/x · /);
    expect(terminal.emulator.raw()).not.toMatch(/demo|claude/);
  });
});

describe.concurrent('a second terminal', () => {
  it('has the first one act on what it says while nothing goes on there', async ({ expect }) => {
    await using world = await terminalWorld(['The first answer.', 'The second answer.']);
    const driving = world.open();
    await driving.shows(STATUS);
    driving.type('First\r');
    await driving.shows(/1 turn · /);
    const [created] = await world.log();
    const id = created?.type === 'session_created' ? created.sessionId : '';
    const reading = world.open(['attach', id]);
    await reading.shows('The first answer.');
    reading.type('Second\r');
    const shown = await driving.shows(/Second[^]*The second answer\.[^]* turn · /);
    expect(times(shown, 'The second answer')).toBe(1);
    await reading.shows('The second answer.');
  });
});
