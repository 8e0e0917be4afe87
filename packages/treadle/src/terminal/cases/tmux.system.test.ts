import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

import { describe, it } from 'vitest';

import { bin } from '../../test-support/process.ts';
import { longReply, STATUS, terminalWorld, times, type TerminalWorld } from '../../test-support/terminal-world.ts';

/** The command line in a pane of tmux, which is a terminal of its own: it has no whole frames, and reflows by itself. */
async function inTmux(world: TerminalWorld, columns: number, rows: number) {
  await world.put('tmux.conf', 'set -g history-limit 50000\nset -g escape-time 10\nset -g status off\n');
  const socket = ['-S', join(world.home, 'tmux.socket')];
  const tmux = (...args: readonly string[]): string =>
    execFileSync('tmux', [...socket, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const command = ['tmux', ...socket, '-f', join(world.folder, 'tmux.conf'), 'new-session'];
  const terminal = world.open([`${process.execPath} ${bin}`], { command, columns, rows });
  await terminal.shows(STATUS);
  return {
    terminal,
    /** History and screen, as the pane keeps them. */
    lines: () => tmux('capture-pane', '-p', '-S', '-').trimEnd(),
    column: () => Number(tmux('display-message', '-p', '#{cursor_x}')),
    /** Ends the server, which outlives its clients, while its socket is there. */
    [Symbol.dispose]: () => void tmux('kill-server'),
  };
}

describe.concurrent('in tmux', { timeout: 90_000 }, () => {
  it('5: the cursor stands where the emulator has it, after each key', async ({ expect }) => {
    await using world = await terminalWorld([]);
    using pane = await inTmux(world, 80, 24);
    const { terminal, column } = pane;
    const widths = [...'你好，Ａa'].map((cluster) => [cluster, cluster === 'a' ? 1 : 2] as const);
    let at = 2;
    const stands = () => expect.poll(column, { timeout: 5000 }).toBe(at);
    for (const [cluster, width] of widths) {
      terminal.type(cluster);
      at += width;
      await stands();
    }
    for (const [, width] of widths.toReversed()) {
      terminal.type('\u007f');
      at -= width;
      await stands();
    }
  });

  it('2, 3: a reply stands once in the history, through changes of the size, and the draft at the caret', async ({
    expect,
  }) => {
    const hold = Promise.withResolvers<void>();
    const text = longReply(9000);
    const deltas = Math.floor(text.indexOf('## Heading 5') / 7);
    const reply = { text, chunkSize: 7, chunkDelayMs: 1, waitAfter: { deltas, until: hold.promise } };
    await using world = await terminalWorld([reply]);
    using pane = await inTmux(world, 100, 30);
    const { terminal, lines, column } = pane;
    terminal.type('Go\r');
    const shows = (what: string | RegExp) => expect.poll(lines, { timeout: 30_000 }).toMatch(what);
    await shows('Heading 3');
    terminal.type('hello 你好');
    await shows(/^> hello 你好$/m);
    await terminal.resize(60, 24);
    await shows('Heading 4');
    await terminal.resize(110, 40);
    hold.resolve();
    await shows(/1 turn · /);
    const shown = lines();
    for (let heading = 1; heading <= 9; heading += 1) expect(times(shown, `Heading ${heading}`)).toBe(1);
    expect(times(shown, 'END')).toBe(1);
    expect(times(shown, '> hello 你好')).toBe(1);
    expect(shown.match(new RegExp(STATUS, 'g'))).toHaveLength(1);
    await expect.poll(column).toBe(2 + 5 + 1 + 4);
  });
});
