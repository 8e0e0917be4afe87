// Records a session for README.md: `npm run record` writes docs/images/terminal.svg and docs/images/terminal.cast.
// An argument names another folder for both.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

import { recordSession, type Recording } from './recording/session.ts';
import { svgOf } from './recording/svg.ts';

const TITLE = 'A session in a terminal: a question about files, and a file that is written after approval';

/** Version 2 of asciicast: a header, and a line per piece of output. */
function castOf({ columns, rows, output }: Recording): string {
  const header = { version: 2, width: columns, height: rows, title: TITLE, env: { TERM: 'xterm-256color' } };
  const events = output.map(([seconds, text]) => [Number(seconds.toFixed(3)), 'o', text]);
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join('');
}

const folder = process.argv[2] ?? join(import.meta.dirname, '../docs/images');
const recording = await recordSession();
await mkdir(folder, { recursive: true });
await writeFile(join(folder, 'terminal.svg'), svgOf(recording.screens, recording.columns, TITLE));
await writeFile(join(folder, 'terminal.cast'), castOf(recording));
