// A session of `treadle` with the demo model in a pseudo-terminal: what it puts out, with times, and the screens that stood for a while.

import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startInTerminal } from '../../packages/treadle/src/test-support/terminal-process.ts';
import type { Screen } from './svg.ts';

const SIZE = { columns: 80, rows: 30 };
/** Milliseconds between keys, and that a screen stands until a person has read it. */
const KEY_MS = 45;
const READ_MS = 1500;

/** The folder that the session is in. */
const FILES: Readonly<Record<string, string>> = {
  'docs/tides.md': '# Tides\n\nThe moon draws the water.\n'.repeat(12),
  'docs/harbour.md': '# Harbour\n\nBerths, depths and lights.\n'.repeat(7),
  'docs/weather.md': '# Weather\n\nWind from the west.\n'.repeat(4),
  'docs/index.md': '# Notes\n',
  'README.md': '# The harbour\n\nHigh water at 04:12.\n',
};

export interface Recording {
  readonly columns: number;
  readonly rows: number;
  /** Seconds since the start, and what came then. */
  readonly output: readonly (readonly [seconds: number, text: string])[];
  /** The screens that stood for a while. */
  readonly screens: readonly Screen[];
}

export async function recordSession(): Promise<Recording> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'treadle-recording-')));
  const folder = join(home, 'harbour');
  try {
    await mkdir(join(folder, 'docs'), { recursive: true });
    for (const [path, text] of Object.entries(FILES)) await writeFile(join(folder, path), text);
    return await sessionIn(folder, home);
  } finally {
    await rm(home, { recursive: true });
  }
}

async function sessionIn(cwd: string, home: string): Promise<Recording> {
  const output: [number, string][] = [];
  const began = performance.now();
  const onOutput = (text: string): void => {
    output.push([(performance.now() - began) / 1000, text]);
  };
  const env = { HOME: home, TREADLE_THEME: 'dark', NODE_COMPILE_CACHE: join(home, 'cache') };
  await using terminal = startInTerminal([], { cwd, env, ...SIZE, onOutput });
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const screens: Screen[] = [];
  const read = async (): Promise<void> => {
    await wait(READ_MS);
    screens.push(await terminal.emulator.styledScreen());
  };
  const say = async (text: string): Promise<void> => {
    for (const key of text) {
      terminal.type(key);
      await wait(KEY_MS);
    }
    terminal.type('\r');
  };
  await terminal.shows(/demo\/demo-1 · default/);
  await say('What are the two largest files in docs?');
  await terminal.shows(/turns · /);
  await read();
  await say('Create notes/today.md with the text "High water at 04:12."');
  await terminal.shows('no, and say why');
  await read();
  terminal.type('1');
  await terminal.shows(/allowed by you[^]* turns · /);
  await read();
  terminal.type('\u0004');
  await terminal.ended;
  return { ...SIZE, output, screens };
}
