import type { UserContent } from '@treadle/core';
import { TreadleError } from '@treadle/core';
import { open } from 'node:fs/promises';
import { constants } from 'node:fs';
import { MB } from '../options.ts';
import { decoderFor, sniff } from '../text/decode.ts';
import { imageType } from '../files/image.ts';

const MOST = { text: MB, image: 20 * MB, pdf: 32 * MB } as const;

/**
 * A file as a part of a message, by what it holds and not by its name: text as a text block, PNG, JPEG, GIF and WebP as an
 * image, PDF as a file. Give it only paths that a person has named: any readable file is read.
 *
 * @param name what the model is told it is called. Default: the path
 * @throws TreadleError `invalid_attachment` for a file that can't be read, is too large (text 1 MB, images 20 MB, PDF
 * 32 MB), or is none of these.
 * @example
 * ```ts
 * import { readAttachment } from '@treadle/tools';
 * import { mkdtemp, writeFile } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 *
 * const path = join(await mkdtemp(join(tmpdir(), 'attachment-')), 'drawing.txt');
 * await writeFile(path, 'GIF89a');
 * console.log((await readAttachment(path)).type); // image
 * ```
 */
export async function readAttachment(path: string, name: string = path): Promise<UserContent> {
  const bytes = await bytesOf(path, name);
  const mediaType = imageType(bytes);
  if (mediaType !== undefined) {
    within(name, 'image', bytes);
    return { type: 'image', mediaType, data: bytes.toString('base64') };
  }
  // Readers of PDF look for the mark in the first kilobyte.
  if (bytes.subarray(0, 1024).includes('%PDF-')) {
    within(name, 'pdf', bytes);
    return { type: 'file', mediaType: 'application/pdf', name, data: bytes.toString('base64') };
  }
  const sniffed = sniff(bytes, true);
  if (sniffed.kind === 'binary') {
    throw unusable(`${name} is neither text, nor an image (PNG, JPEG, GIF, WebP), nor a PDF.`);
  }
  within(name, 'text', bytes);
  return { type: 'text', text: decoderFor(sniffed.encoding).decode(bytes) };
}

async function bytesOf(path: string, name: string): Promise<Buffer> {
  try {
    // A pipe would never end.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw unusable(`${name} is no file.`);
      if (stats.size > MOST.pdf) throw unusable(tooLarge(name, stats.size, MOST.pdf));
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof TreadleError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw unusable(`${name} can't be read${code === 'ENOENT' ? ': there is no such file' : ` (${code})`}.`, error);
  }
}

function within(name: string, kind: keyof typeof MOST, { length }: Buffer): void {
  if (length > MOST[kind]) throw unusable(tooLarge(name, length, MOST[kind]));
}

const tooLarge = (name: string, bytes: number, most: number): string =>
  `${name} has ${bytes} bytes, and ${most} at most fit into a message. Name it without @, and let the model read parts of it.`;

const unusable = (message: string, cause?: unknown): TreadleError =>
  new TreadleError('invalid_attachment', message, cause === undefined ? {} : { cause });
