import { describe, expect, it } from 'vitest';

import { createEmulator, forbidden } from '../../test-support/emulator.ts';
import { createScreen } from './screen.ts';

function screenOf(columns: number, rows: number) {
  const emulator = createEmulator(columns, rows);
  return { emulator, screen: createScreen(emulator) };
}

const live = (...rows: string[]) => ({ rows, caret: { row: rows.length - 1, column: 0 } });

describe('the screen', () => {
  it('writes finished rows to the scrollback once, in order, whatever happens below them', async () => {
    const { emulator, screen } = screenOf(40, 8);
    const expected: string[] = [];
    for (let number = 0; number < 100; number += 1) {
      expected.push(`finished ${number}`);
      screen.draw([`finished ${number}`], live(...Array.from({ length: number % 7 }, (_, row) => `live ${row}`), '> '));
    }
    const lines = await emulator.lines();
    expect(lines.slice(0, 100)).toEqual(expected);
    expect(lines.slice(100)).toEqual(['live 0', '>']);
    expect(forbidden(emulator.raw())).toEqual([]);
  });

  it('writes nothing while nothing changes, and one write for each frame that does', () => {
    const { emulator, screen } = screenOf(40, 8);
    screen.draw(['a'], live('b', '> '));
    screen.draw([], live('b', '> '));
    screen.draw([], live('b', '> '));
    expect(emulator.writes()).toBe(1);
    screen.draw([], live('c', '> '));
    expect(emulator.writes()).toBe(2);
  });

  it('rewrites only the rows that are others, and leaves the cursor at the caret', async () => {
    const { emulator, screen } = screenOf(40, 8);
    screen.draw([], { rows: ['one', 'two', '> x', 'status'], caret: { row: 2, column: 3 } });
    const before = emulator.raw().length;
    screen.draw([], { rows: ['one', 'two', '> xy', 'status'], caret: { row: 2, column: 4 } });
    expect(emulator.raw().slice(before)).not.toMatch(/one|two|status/);
    expect(await emulator.cursor()).toEqual({ row: 2, column: 4 });
    screen.draw([], { rows: ['> xy', 'status'], caret: { row: 0, column: 4 } });
    expect(await emulator.lines()).toEqual(['> xy', 'status']);
  });

  it('keeps finished rows through changes of the size, and leaves no live row behind', async () => {
    const { emulator, screen } = screenOf(60, 12);
    const long = 'x'.repeat(55);
    screen.draw([`first ${long.slice(10)}`], live(long, long, '> '));
    for (const [columns, rows] of [
      [30, 12],
      [50, 6],
      [100, 30],
      [20, 30],
      [60, 12],
    ] as const) {
      await emulator.resize(columns, rows);
      screen.resized();
      screen.draw([], live(long.slice(0, columns - 1), long.slice(0, columns - 1), '> '));
    }
    screen.draw(['last'], live('> '));
    const text = (await emulator.lines()).join('\n');
    expect(text.match(/first/g)).toHaveLength(1);
    expect(text.match(/^> ?$|^>$/gm)).toHaveLength(1);
    expect(text.replaceAll('\n', '')).not.toContain('x'.repeat(56));
    expect(forbidden(emulator.raw())).toEqual([]);
  });

  it('shows the end of live rows that are more than fit', async () => {
    const { emulator, screen } = screenOf(20, 5);
    screen.draw(['done'], live('1', '2', '3', '4', '5', '6', '> '));
    expect(await emulator.screen()).toEqual(['done', '4', '5', '6', '>']);
  });

  it('marks whole frames once the terminal has said that it takes them', () => {
    const { emulator, screen } = screenOf(20, 5);
    screen.draw([], live('> '));
    expect(emulator.raw()).not.toContain('2026');
    screen.useFrames();
    screen.draw([], live('a', '> '));
    expect(emulator.raw()).toMatch(/\u001b\[\?2026h[^]*\u001b\[\?2026l$/); // oxlint-disable-line eslint/no-control-regex -- the mode
  });
});
