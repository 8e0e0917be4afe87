// The recording in README.md, made anew.

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createEmulator } from '../packages/treadle/src/test-support/emulator.ts';

const root = join(import.meta.dirname, '..');
const kept = join(root, 'docs/images');

/** What stands in a picture, a line per row, without what differs between machines: the times. */
function rowsOf(svg: string): string {
  const rows = svg.split('\n').filter((line) => line.startsWith('<text'));
  const texts = rows.map((row) =>
    row
      .replaceAll(/<text x="[\d.]+"[^>]*>/g, ' ')
      .replaceAll('</text>', '')
      .replaceAll('&gt;', '>')
      .replaceAll('&lt;', '<')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&'),
  );
  return texts.map((text) => text.replaceAll(/ +/g, ' ').trim()).join('\n');
}
/** A figure more may break a row at another word. */
const timeless = (text: string): string => text.replaceAll('\n', ' ').replaceAll(/[\d.,]+ (?:ms|s)\b/g, 'a while');

describe('the recording of a session', () => {
  let folder = '';
  let svg = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'treadle-record-'));
    const script = join(root, 'scripts/record.ts');
    execFileSync(process.execPath, ['--conditions=treadle-source', script, folder], { cwd: root });
    svg = await readFile(join(folder, 'terminal.svg'), 'utf8');
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('shows a question, its answer, a change before it is made, and who allowed it', () => {
    const shown = rowsOf(svg);
    for (const line of [
      '> What are the two largest files in docs?',
      'docs/tides.md (420 bytes)',
      '+High water at 04:12.',
      'no, and say why',
      'allowed by you',
      'Created notes/today.md',
    ])
      expect(shown).toContain(line);
  });

  it('is one small file, without scripts and links', async () => {
    expect((await stat(join(folder, 'terminal.svg'))).size).toBeLessThanOrEqual(60_000);
    expect((await stat(join(folder, 'terminal.cast'))).size).toBeLessThanOrEqual(60_000);
    expect(svg).not.toMatch(/<script|href=|url\(|<image/);
  });

  it('is an asciicast that a terminal shows as the session', async () => {
    const [first = '', ...rest] = (await readFile(join(folder, 'terminal.cast'), 'utf8')).trim().split('\n');
    const header = JSON.parse(first) as { version: number; width: number; height: number };
    expect(header).toMatchObject({ version: 2, width: 80 });
    const emulator = createEmulator(header.width, header.height);
    let last = 0;
    for (const line of rest) {
      const [seconds, kind, text] = JSON.parse(line) as [number, string, string];
      expect(kind).toBe('o');
      expect(seconds).toBeGreaterThanOrEqual(last);
      last = seconds;
      emulator.write(text);
    }
    expect((await emulator.lines()).join('\n')).toMatch(
      /two largest files[^]*docs\/tides\.md[^]*Created notes\/today\.md/,
    );
  });

  it('is in the README as it is made today: npm run record', async () => {
    expect(await readFile(join(root, 'README.md'), 'utf8')).toContain('](docs/images/terminal.svg)');
    const before = rowsOf(await readFile(join(kept, 'terminal.svg'), 'utf8'));
    expect(timeless(rowsOf(svg))).toBe(timeless(before));
  });
});
