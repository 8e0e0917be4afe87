import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { choose, longReply, STATUS, terminalWorld, times } from '../../test-support/terminal-world.ts';

const HEADINGS = Array.from({ length: 9 }, (_, index) => `Heading ${index + 1}`);

/** A long reply that stands still in the section of this heading until it is told to go on. */
function held(characters: number, heading: number) {
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  const text = longReply(characters);
  const chunkSize = 7;
  const deltas = Math.floor(text.indexOf(`## Heading ${heading}`) / chunkSize) + 5;
  return { reply: { text, chunkSize, chunkDelayMs: 1, waitAfter: { deltas, until } }, goOn };
}

// Seven terminals draw at once: a busy machine takes its time.
describe.concurrent('a reply that streams', { timeout: 90_000 }, () => {
  it('2: stands once in history and screen, and what is typed meanwhile stays at the caret', async ({ expect }) => {
    const { reply, goOn } = held(13_400, 5);
    await using world = await terminalWorld([reply]);
    const terminal = world.open([], { columns: 100, rows: 30 });
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('Heading 2');
    for (const key of 'hello 你好') terminal.type(key);
    await terminal.shows(/^> hello 你好$/m);
    goOn();
    const shown = await terminal.shows(/1 turn · /, 60_000);
    for (const heading of HEADINGS) expect(times(shown, heading)).toBe(1);
    expect(times(shown, 'END')).toBe(1);
    expect(shown).toMatch(/^> hello 你好$/m);
    expect(shown.match(new RegExp(STATUS, 'g'))).toHaveLength(1);
    expect(shown).not.toMatch(/\*\*|```/);
    expect((await terminal.emulator.cursor()).column).toBe(2 + 5 + 1 + 4);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('3: survives changes of the size', async ({ expect }) => {
    const { reply, goOn } = held(13_400, 7);
    await using world = await terminalWorld([reply]);
    const terminal = world.open([], { columns: 100, rows: 24 });
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('Heading 3');
    await terminal.resize(60, 24);
    await terminal.shows('Heading 6');
    await terminal.resize(120, 40);
    goOn();
    const shown = await terminal.shows(/1 turn · /, 60_000);
    for (const heading of HEADINGS) expect(times(shown, heading)).toBe(1);
    expect(times(shown, 'END')).toBe(1);
    expect(shown.match(new RegExp(STATUS, 'g'))).toHaveLength(1);
    expect(shown.match(/^>$/gm)).toHaveLength(1);
    // oxlint-disable-next-line eslint/no-control-regex -- what nobody may send
    expect(terminal.emulator.raw()).not.toMatch(/\u001b\[[23]J/);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('22: draws only the live rows when the height changes again and again', async ({ expect }) => {
    await using world = await terminalWorld([longReply(4000)]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows(/1 turn · /);
    terminal.type('draft');
    await terminal.shows(/^> draft$/m);
    const before = terminal.emulator.raw().length;
    for (let round = 0; round < 10; round += 1) for (const rows of [12, 40, 24]) await terminal.resize(80, rows);
    terminal.type('!');
    const shown = await terminal.shows(/^> draft!$/m);
    expect(terminal.emulator.raw().length - before).toBeLessThan(4096);
    expect((await terminal.emulator.cursor()).column).toBe(8);
    expect(shown.match(new RegExp(STATUS, 'g'))).toHaveLength(1);
    for (const heading of HEADINGS) expect(times(shown, heading)).toBe(1);
  });

  it('24: goes on behind the pager, with nothing missing or twice afterwards', async ({ expect }) => {
    const { reply, goOn } = held(9000, 4);
    await using world = await terminalWorld([reply]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('Heading 2');
    terminal.type('\u000f');
    await terminal.shows('q leaves');
    goOn();
    await world.provider.idle();
    expect(world.provider.requests).toHaveLength(1);
    terminal.type('q');
    const shown = await terminal.shows(/1 turn · /, 60_000);
    for (const heading of HEADINGS) expect(times(shown, heading)).toBe(1);
    const places = HEADINGS.map((heading) => shown.indexOf(heading));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(times(shown, 'END')).toBe(1);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it.for([true, false])(
    '26: writes whole frames, and marks them only where the terminal knows how: %s',
    async (knows, { expect }) => {
      await using world = await terminalWorld([{ text: longReply(4000), chunkSize: 7, chunkDelayMs: 2 }]);
      const pieces: string[] = [];
      const terminal = world.open([], { isMute: !knows, onOutput: (piece) => pieces.push(piece) });
      await terminal.shows(STATUS);
      const before = terminal.emulator.raw().length;
      terminal.type('Go\r');
      const shown = await terminal.shows(/1 turn · /);
      expect(times(shown, 'END')).toBe(1);
      const raw = terminal.emulator.raw();
      const frames = raw.slice(before).split('\u001b[?2026h').slice(1);
      expect(frames.length > 10).toBe(knows);
      // Each write is a whole frame: it leaves the cursor at the caret. The system hands on a few in two parts.
      const cut = pieces.slice(1).filter((piece) => !/\u001b\[\d+G(?:\u001b\[\?2026l)?$/.test(piece)); // oxlint-disable-line eslint/no-control-regex -- the caret
      expect(cut.length, JSON.stringify(cut)).toBeLessThan(pieces.length / 5);
      for (const frame of frames) {
        expect(frame).toMatch(/\u001b\[\?2026l$/); // oxlint-disable-line eslint/no-control-regex -- nothing is outside of a frame
        expect(frame.length).toBeLessThan(80 * 24 * 4);
      }
      expect(forbidden(raw)).toEqual([]);
    },
  );

  it('12: keeps what is durable when the process is killed in the middle, and goes on at Enter', async ({ expect }) => {
    const { reply } = held(9000, 5);
    await using world = await terminalWorld(['The first answer.', reply, 'The second answer.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('First question\r');
    await terminal.shows(/1 turn · /);
    terminal.type('Second question\r');
    await terminal.shows('Heading 4');
    terminal.kill('SIGKILL');
    await terminal.ended;
    const again = world.open(['-c']);
    const shown = await again.shows('Enter goes on with it');
    expect(shown).toMatch(/First question[^]*The first answer[^]*Second question[^]*broke off/);
    expect(times(shown, 'The first answer')).toBe(1);
    expect(shown).not.toContain('Heading');
    again.type('\r');
    const after = await again.shows(/The second answer[^]* turns? · /);
    for (const text of ['First question', 'The first answer', 'Second question', 'The second answer'])
      expect(times(after, text)).toBe(1);
    expect(forbidden(again.emulator.raw())).toEqual([]);
  });
});

describe.concurrent('a small terminal', () => {
  it('4: has no row that is too long, and shows every choice of a menu', async ({ expect }) => {
    const table =
      '| a | b | c | d | e |\n| - | - | - | - | - |\n| one value | another value | 世界世界 | four | five values |';
    const content = Array.from(
      { length: 30 },
      (_, line) => `line ${line} with some more words than forty columns hold`,
    );
    await using world = await terminalWorld([
      {
        text: `Look:\n\n${table}`,
        toolCalls: [{ name: 'write_file', arguments: { path: 'a.md', content: content.join('\n') } }],
      },
      'Done.',
    ]);
    const terminal = world.open([], { columns: 40, rows: 12 });
    await terminal.shows(/anthropic\/x/);
    terminal.type('Go\r');
    await terminal.shows('no, and say why');
    const screen = (await terminal.emulator.screen()).join('\n');
    expect(screen).toMatch(
      /more lines · Ctrl\+F[^]* 1 {2}yes, once[^]* 2 {2}yes, for this session[^]* 3 {2}yes, always[^]* 4 {2}no, and say why[^]*\n>/,
    );
    expect(await terminal.emulator.overlong()).toBe(0);
    terminal.type('\u0006');
    await terminal.shows('q leaves');
    terminal.type('G');
    await terminal.shows('+line 29');
    terminal.type('q');
    await choose(terminal, '1');
    await terminal.shows(/ turns · /);
    expect(await terminal.emulator.overlong()).toBe(0);
    expect(await world.read('a.md')).toBe(content.join('\n'));
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });
});
