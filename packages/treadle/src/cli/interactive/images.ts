import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { exactLine } from '../asking/plain-text.ts';

/** What a prompt can't show as a path of its own: the model needs the file. */
const SHOWN_AS_FILE = /\.(?:png|jpe?g|gif|webp|pdf)$/i;
const LONGEST_PATH = 4096;
/** A clipboard's owner may be gone, or never answer. */
const TIMEOUT_MS = 5000;
const MOST_BYTES = 20_000_000;

/** Programs that print the image of a clipboard as PNG: Wayland, X11, macOS. */
const CLIPBOARDS: readonly (readonly [program: string, ...args: string[]])[] = [
  ['wl-paste', '--no-newline', '--type', 'image/png'],
  ['xclip', '-selection', 'clipboard', '-target', 'image/png', '-out'],
  ['pngpaste', '-'],
];

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

/**
 * The mention of an image or a PDF whose path was pasted, as terminals do when a file is dragged into them: quoted, with
 * backslashes, or as a `file:` address. Null for any other text.
 */
export function mentionOfPath(text: string, { folder, home }: { readonly folder: string; readonly home?: string }) {
  const said = text.trim();
  if (said.length > LONGEST_PATH || !SHOWN_AS_FILE.test(said.replace(/['"]$/, ''))) return null;
  const path = asPath(said);
  if (path === null) return null;
  const absolute = path.startsWith('~/') && home !== undefined ? join(home, path.slice(2)) : resolve(folder, path);
  const isFile = statSync(absolute, { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? mention(absolute) : null;
}

function asPath(text: string): string | null {
  const quoted = /^(['"])(.+)\1$/.exec(text)?.[2];
  if (quoted !== undefined) return quoted;
  if (text.startsWith('file://')) {
    try {
      return fileURLToPath(text);
    } catch {
      return null;
    }
  }
  // A space that isn't escaped stands between words.
  return /(?<!\\)\s/.test(text) ? null : text.replaceAll(/\\(.)/g, '$1');
}

/** Null for a path that can't be typed. */
const mention = (path: string): string | null =>
  path.includes('"') || exactLine(path) !== path ? null : /\s/.test(path) ? `@"${path}" ` : `@${path} `;

/** The mention of the clipboard's image, kept in a file of its own; null where there is none. */
export async function mentionOfClipboard(env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const [program, ...args] of CLIPBOARDS) {
    const options = { env, encoding: 'buffer', timeout: TIMEOUT_MS, maxBuffer: MOST_BYTES } as const;
    const found = await promisify(execFile)(program, args, options).catch(() => null);
    if (!found?.stdout.subarray(0, 4).equals(PNG)) continue;
    const path = join(await mkdtemp(join(tmpdir(), 'treadle-pasted-')), 'image.png');
    await writeFile(path, found.stdout, { mode: 0o600 });
    return mention(path);
  }
  return null;
}
