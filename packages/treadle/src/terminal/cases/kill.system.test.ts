import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

import type { DurableEvent } from '@treadle/core';
import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import type { TerminalProcess } from '../../test-support/terminal-process.ts';
import { choose, longReply, STATUS, terminalWorld, times } from '../../test-support/terminal-world.ts';

/** How often each place is killed: TREADLE_KILLS=20 does all that a release needs (`npm run test:kills`). */
const KILLS = Number(process.env['TREADLE_KILLS'] ?? 2);
const rounds = Array.from({ length: KILLS }, (_, round) => round);

const starts = (log: readonly DurableEvent[]): number => log.filter(({ type }) => type === 'tool_started').length;

/** Milliseconds into what goes on at which a round kills. */
const moment = (round: number, within: number): number => Math.round(((round + 0.5) / KILLS) * within);

async function killAt(terminal: TerminalProcess, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  terminal.kill('SIGKILL');
  await terminal.ended;
}

describe.concurrent('kill -9', () => {
  it.for(rounds)('in a reply, %s', async (round, { expect }) => {
    const reply = { text: longReply(3000), chunkSize: 7, chunkDelayMs: 4 };
    await using world = await terminalWorld([reply, 'It goes on.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Question\r');
    await terminal.shows('Heading 1');
    terminal.type('a draft');
    await terminal.shows('> a draft');
    await killAt(terminal, moment(round, 1200));
    const again = world.open(['-c']);
    await again.shows(/Question[^]*broke off[^]*> a draft/);
    again.type('\u0015\r');
    const shown = await again.shows(/It goes on\.[^]* turns? · /);
    for (const text of ['> Question', 'It goes on.']) expect(times(shown, text)).toBe(1);
    expect(shown).not.toContain('Heading');
    expect(forbidden(again.emulator.raw())).toEqual([]);
  });

  it.for(rounds)('in a tool, %s', async (round, { expect }) => {
    const command = 'echo begun >> begun.txt; sleep 1; echo over >> over.txt';
    await using world = await terminalWorld([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'It goes on.']);
    const terminal = world.open(['--allow', 'bash']);
    await terminal.shows(STATUS);
    terminal.type('Question\r');
    await terminal.shows('• Run a command');
    await expect.poll(() => existsSync(join(world.folder, 'begun.txt')), { timeout: 10_000 }).toBe(true);
    await killAt(terminal, moment(round, 800));
    const again = world.open(['-c', '--allow', 'bash']);
    await again.shows(/Question[^]*broke off/);
    again.type('\r');
    const shown = await again.shows(/It goes on\.[^]* turns? · /);
    for (const text of ['> Question', 'It goes on.', 'Run a command']) expect(times(shown, text)).toBe(1);
    // A command is no call that may run twice.
    expect(await world.read('begun.txt')).toBe('begun\n');
    expect(starts(await world.log())).toBe(1);
  });

  it.for(rounds)('in an approval, %s', async (round, { expect }) => {
    const call = { name: 'write_file', arguments: { path: 'a.md', content: 'hello\n' } };
    await using world = await terminalWorld([{ toolCalls: [call] }, 'It goes on.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Question\r');
    await terminal.shows('no, and say why');
    terminal.type('a draft');
    const before = await terminal.shows('> a draft');
    await killAt(terminal, 100 + moment(round, 300));
    const again = world.open(['-c']);
    const asked = await again.shows(/no, and say why[^]*> a draft/);
    // The hint about the draft belongs to this terminal alone.
    const menu = (text: string): string =>
      text.slice(text.indexOf('Write a file'), text.indexOf('> a draft')).replace(/^Keys go to your draft.*\n/m, '');
    expect(menu(asked)).toBe(menu(before));
    await choose(again, '1');
    const shown = await again.shows(/It goes on\.[^]* turns? · /);
    expect(times(shown, '> Question')).toBe(1);
    expect(await world.read('a.md')).toBe('hello\n');
    expect(starts(await world.log())).toBe(1);
  });

  it.for(rounds)('in an edit, %s', async (round, { expect }) => {
    const read = { name: 'read_file', arguments: { path: 'a.md' } };
    const edit = { name: 'edit_file', arguments: { path: 'a.md', old_text: 'one', new_text: 'two' } };
    await using world = await terminalWorld(({ body }) => {
      const calls = times(JSON.stringify((body as { messages: unknown }).messages), '"tool_use"');
      return calls === 0 ? { toolCalls: [read] } : calls === 1 ? { toolCalls: [edit] } : 'It goes on.';
    });
    await world.put('a.md', 'one\n');
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Question\r');
    await choose(terminal, '1');
    await killAt(terminal, moment(round, 60));
    const again = world.open(['-c']);
    const shown = await again.shows(/no, and say why|broke off[^]*Enter goes on|It goes on\.[^]* turns? · /);
    if (!shown.includes('no, and say why') && shown.includes('Enter goes on')) again.type('\r');
    if ((await again.shows(/no, and say why|It goes on/)).includes('no, and say why')) await choose(again, '1');
    const after = await again.shows(/It goes on\.[^]* turns? · /);
    expect(times(after, '> Question')).toBe(1);
    // The file is whole: as it was, or as it should be.
    expect(['one\n', 'two\n']).toContain(await world.read('a.md'));
    const edits = (await world.log()).filter(
      (event) => event.type === 'tool_started' && event.toolName === 'edit_file',
    );
    expect(edits.length).toBeLessThanOrEqual(1);
  });
});
