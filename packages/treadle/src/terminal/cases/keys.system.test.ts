import { execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { choose, STATUS, terminalWorld, times } from '../../test-support/terminal-world.ts';

const LEFT = '\u001b[D';
const UP = '\u001b[A';
const BACKSPACE = '\u007f';
/** As terminals send it that tell it from the beginning of a sequence. */
const ESCAPE_TWICE = '\u001b[27u'.repeat(2);
const HANGING = { text: 'One moment', waitAfter: { deltas: 1, until: new Promise<never>(() => {}) } };
/** What the user said in a request, oldest first. */
const said = (body: unknown): string[] =>
  (body as { messages: { role: string; content: string | { text?: string }[] }[] }).messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : content.map(({ text = '' }) => text)));

describe.concurrent('keys', () => {
  it('5: moves over and deletes whole characters, whatever they are made of', async ({ expect }) => {
    await using world = await terminalWorld([]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    /** Each with its columns. */
    const clusters = [
      ['你', 2],
      ['好', 2],
      ['，', 2],
      ['👩‍👩‍👧', 2],
      ['🇳🇴', 2],
      ['e\u0301', 1],
      ['Ａ', 2],
    ] as const;
    const column = async (expected: number): Promise<void> => {
      await expect.poll(async () => (await terminal.emulator.cursor()).column, { timeout: 5000 }).toBe(expected);
    };
    let at = 2;
    for (const [cluster, columns] of clusters) {
      terminal.type(cluster);
      at += columns;
      await column(at);
    }
    for (const [, columns] of clusters.toReversed()) {
      terminal.type(LEFT);
      at -= columns;
      await column(at);
    }
    terminal.type('\u0005');
    at = 2 + clusters.reduce((sum, [, columns]) => sum + columns, 0);
    await column(at);
    for (const [, columns] of clusters.toReversed()) {
      terminal.type(BACKSPACE);
      at -= columns;
      await column(at);
    }
    expect(await terminal.shows(/^>$/m)).not.toContain('你');
  });

  it('sends the image of the clipboard, and one that is dragged into the terminal', async ({ expect }) => {
    await using world = await terminalWorld(['Two images.']);
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await writeFile(join(world.folder, 'my photo.png'), Buffer.from(png, 'base64'));
    await world.put('bin/wl-paste', `#!/bin/sh\necho '${png}' | base64 -d\n`);
    await chmod(join(world.folder, 'bin/wl-paste'), 0o755);
    const terminal = world.open([], { env: { PATH: `${join(world.folder, 'bin')}:${process.env['PATH']}` } });
    await terminal.shows(STATUS);
    terminal.type('\u0016');
    await terminal.shows(/> @\/\S+image\.png/);
    terminal.type(`\u001b[200~'${join(world.folder, 'my photo.png')}'\u001b[201~`);
    await terminal.shows(/photo\.png"/);
    terminal.type('What is it?\r');
    await terminal.shows('Two images.');
    expect(times(JSON.stringify(world.provider.requests[0]?.body), '"type":"image"')).toBe(2);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('13: keeps a paste of 2,000 lines as a marker, and sends all of it', async ({ expect }) => {
    const lines = Array.from({ length: 2000 }, (_, line) => `line ${line}\t${'x'.repeat(90)}`);
    lines[7] = 'a line with \u001b[31m in it';
    lines[9] = String.raw`the words \x1b[201~ end no paste`;
    await using world = await terminalWorld(['Thank you.']);
    await world.put('editor.sh', 'cat "$1" > seen.txt\nread word\nprintf " $word" >> "$1"\n');
    const terminal = world.open([], { env: { VISUAL: `sh ${join(world.folder, 'editor.sh')}` } });
    await terminal.shows(STATUS);
    const before = terminal.emulator.writes();
    terminal.type(`\u001b[200~${lines.join('\n')}\u001b[201~`);
    await terminal.shows('> [paste #1 · 2,000 lines]');
    expect(terminal.emulator.writes() - before).toBeLessThanOrEqual(3);
    terminal.type('\u0003');
    await terminal.shows('put aside');
    terminal.type(UP);
    await terminal.shows('> [paste #1 · 2,000 lines]');
    terminal.type('\u0007');
    await expect.poll(() => world.read('seen.txt').catch(() => '')).toContain('lines]');
    terminal.type('edited\r');
    await terminal.shows('> [paste #1 · 2,000 lines] edited');
    expect(times(await world.read('seen.txt'), 'line 1999')).toBe(0);
    // With another key, what was pasted can be edited, too.
    terminal.type('\u0018');
    await expect.poll(() => world.read('seen.txt')).toContain('line 1999');
    terminal.type('again\r');
    await terminal.shows('> [paste #2 · 2,000 lines]');
    terminal.type('\r');
    await terminal.shows(/1 turn · /);
    const [request] = world.provider.requests;
    const expected = lines.join('\n').replace('\u001b', '\\u{1b}');
    expect(said(request?.body).includes(`${expected} edited again`)).toBe(true);
    terminal.type(UP);
    await terminal.shows('> [paste #2 · 2,000 lines]');
    terminal.type('\u0015');
    terminal.type('\u001b[200~never ended');
    await terminal.shows('> never ended');
    terminal.type('!');
    await terminal.shows('> never ended!');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('15: gives queued messages back at Esc, and goes back to an earlier message at Esc Esc', async ({ expect }) => {
    await using world = await terminalWorld([
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a.md', content: 'hello' } }] },
      'Written.',
      HANGING,
    ]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Write a file\r');
    await choose(terminal, '1');
    await terminal.shows(/2 turns · /);
    terminal.type('And now\r');
    await terminal.shows('One moment');
    terminal.type('first thing\t');
    await terminal.shows('after this run: first thing');
    terminal.type('second thing\t');
    await terminal.shows('after this run: second thing');
    terminal.type(UP);
    expect(await terminal.shows(/^> first thing\n {2}second thing$/m)).not.toContain('after this run');
    terminal.type('\t');
    await terminal.shows('after this run: first thing second thing');
    terminal.type('\u001b');
    await terminal.shows(/Interrupted[^]*> first thing\n {2}second thing/);
    expect(world.provider.requests).toHaveLength(3);
    terminal.type('\u0003');
    await terminal.shows('put aside');
    terminal.type(ESCAPE_TWICE);
    await terminal.shows(/Go back to before which message[^]*❯ And now[^]*Write a file/);
    terminal.type('\u001b[B\r');
    await terminal.shows(/a\.md[^]*Do it\? \[y\/n\]/);
    terminal.type('y\r');
    await terminal.shows(/> Write a file\n[^>]*$/);
    await expect(world.read('a.md')).rejects.toThrow('ENOENT');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('18: marks what is told before the next call and what after the run, and keeps both', async ({ expect }) => {
    await using world = await terminalWorld([HANGING, 'Taken in.', 'And done.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Begin\r');
    await terminal.shows('One moment');
    terminal.type('steer this\r');
    terminal.type('then that\t');
    await terminal.shows(/→ next call: steer this · Up takes it back\n→ after this run: then that/);
    const inputs = (await world.log()).flatMap((event) => (event.type === 'input_received' ? [event.input.type] : []));
    expect(inputs).toEqual(['prompt', 'steering', 'follow_up']);
    terminal.kill('SIGKILL');
    await terminal.ended;
    const again = world.open(['-c']);
    await again.shows(/→ next call: steer this · Up takes it back\n→ after this run: then that[^]*Enter goes on/);
    again.type('\r');
    const shown = await again.shows(/Taken in\.[^]*And done\.[^]* turns? · /);
    for (const text of ['steer this', 'then that', 'Taken in', 'And done']) expect(times(shown, text)).toBe(1);
  });

  it('23: completes commands and paths, and Esc closes the list without an interruption', async ({ expect }) => {
    await using world = await terminalWorld([HANGING]);
    for (let file = 0; file < 30; file += 1) await world.put(`src/deep/file-${file}.ts`, '');
    await world.put('src/with space.ts', 'spaced\n');
    execFileSync('git', ['init', '-q'], { cwd: world.folder });
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('/mo');
    await terminal.shows(/❯ \/model/);
    terminal.type('\t');
    await terminal.shows(/^> \/model$/m);
    terminal.type('\u0015@src/');
    const shown = await terminal.shows(/^❯ @"?src/m);
    expect(shown.match(/^[❯ ] @/gm)).toHaveLength(8);
    terminal.type('wsp');
    await terminal.shows(/^❯ @"src\/with space\.ts"$/m);
    terminal.type('\t');
    await terminal.shows(/^> @"src\/with space\.ts"$/m);
    terminal.type('\r');
    await terminal.shows('One moment');
    expect(JSON.stringify(world.provider.requests[0]?.body)).toContain('spaced');
    terminal.type('@file-7');
    await terminal.shows('❯ @src/deep/file-7.ts');
    terminal.type('\u001b');
    await terminal.shows(/^> @file-7\nanthropic/m);
    terminal.type('!');
    const after = await terminal.shows('> @file-7!');
    expect(after).toContain('Esc interrupts');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });
});
