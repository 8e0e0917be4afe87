import type { ToolContext, ToolResult } from '@treadle/core';
import { MB } from '../options.ts';
import { FileProblem } from '../root/problem.ts';
import type { OpenedFile } from '../root/open.ts';
import type { Root } from '../root/root.ts';
import { decoderFor, sniff, type Encoding } from '../text/decode.ts';
import { contentHash, idOfBytes } from './checkpoint.ts';
import { imageType } from './image.ts';
import { lineWindow, type LineWindow } from './line-window.ts';
import { withNearNames } from './near-names.ts';
import { counted, stopIfAborted, withProblems } from './outcome.ts';

export interface ReadFileArguments {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** How much of a file one result has. */
export interface ReadLimits {
  /** Characters of text in one result, which never has more than the model is shown of one. Default 1 MB. */
  readonly maxCharacters?: number;
  /** Bytes of an image. Default 20 MB. */
  readonly maxImageBytes?: number;
  /** Characters of a line; longer ones are cut. Default 2000. */
  readonly maxLineCharacters?: number;
}

/** As the loop counts the tokens of a result. */
const BYTES_PER_TOKEN = 4;
/** Bytes of the header and of the note that says where to go on. */
const AROUND_LINES = 1024;
/** A page has at least one line, however small the model's window is. */
const LEAST_BYTES = 8192;

const sniffedBytes = 64 * 1024;
const chunkBytes = 256 * 1024;
/** A file is read so many bytes beyond the last line shown: for the number of its lines, and the hash of its content. */
export const readBytesLimit = 1024 ** 3;

export function readFile(
  root: Root,
  args: ReadFileArguments,
  context: ToolContext,
  limits: ReadLimits,
): Promise<ToolResult> {
  return withProblems(async () => {
    const file = await withNearNames(root, args.path, () => root.open(args.path));
    try {
      return await readOpened(file, args, context, limits);
    } finally {
      await file.handle.close();
    }
  });
}

type FileToRead = OpenedFile & { readonly real: string };

async function readOpened(
  file: FileToRead,
  args: ReadFileArguments,
  { signal, maxResultTokens }: ToolContext,
  { maxCharacters = MB, maxImageBytes = 20 * MB, maxLineCharacters = 2000 }: ReadLimits,
): Promise<ToolResult> {
  const start = await readAt(file, 0, sniffedBytes);
  const mediaType = imageType(start);
  if (mediaType !== undefined) return readImage(file, mediaType, signal, maxImageBytes);
  const sniffed = sniff(start, start.length < sniffedBytes);
  if (sniffed.kind === 'binary') {
    throw new FileProblem(
      'binary',
      `${file.path} is a binary file (${counted(file.stats.size, 'byte')}), not text or an image. ` +
        'To write another file in its place, remove it first.',
    );
  }
  const window = lineWindow({
    offset: args.offset ?? 1,
    limit: args.limit ?? Number.POSITIVE_INFINITY,
    maxCharacters,
    maxBytes: Math.max(LEAST_BYTES, (maxResultTokens ?? Infinity) * BYTES_PER_TOKEN - AROUND_LINES),
    maxLineCharacters,
  });
  const hash = await pour(file, sniffed.encoding, window, signal);
  const result = present(file, args, window, sniffed.encoding, hash !== null);
  return hash === null ? result : { ...result, reads: [{ path: file.real, hash }] };
}

/**
 * Reads the file through the window, chunk by chunk. Returns the hash of all it holds; null when it stopped before the
 * file's end.
 */
async function pour(
  file: OpenedFile,
  encoding: Encoding,
  window: LineWindow,
  signal: AbortSignal,
): Promise<string | null> {
  const decoder = decoderFor(encoding);
  const hash = contentHash();
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let position = 0;
  let afterWindow = 0;
  for (;;) {
    stopIfAborted(signal, `Reading ${file.path}`);
    const { bytesRead } = await file.handle.read(buffer, 0, chunkBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    window.push(decoder.decode(chunk, { stream: true }));
    if (window.done) afterWindow += bytesRead;
    if (afterWindow > readBytesLimit) return null;
  }
  window.push(decoder.decode());
  window.end();
  return hash.id();
}

function present(
  file: OpenedFile,
  args: ReadFileArguments,
  window: LineWindow,
  encoding: Encoding,
  ended: boolean,
): ToolResult {
  const offset = args.offset ?? 1;
  const total = ended ? window.total : null;
  if (window.lines.length === 0 && offset > 1 && !window.full) {
    throw new FileProblem(
      'bad_request',
      `${file.path} has ${counted(window.total, 'line')}; offset ${offset} is past its end.`,
    );
  }
  const lastLine = offset + window.lines.length - 1;
  const truncated = total === null || lastLine < total;
  const size = `${total === null ? `more than ${window.total} lines` : counted(total, 'line')}, ${counted(file.stats.size, 'byte')}`;
  const shown =
    window.lines.length === 0 || (offset === 1 && !truncated) ? '' : `, lines ${offset} to ${lastLine} shown`;
  const header = `${file.path}: ${size}${shown}${encodingNote(encoding)}`;
  const width = Math.max(4, String(lastLine).length);
  const body = window.lines.map((line, index) => `${String(offset + index).padStart(width)}\t${line}`);
  const more = truncated ? [`[more lines follow: continue with offset ${lastLine + 1}]`] : [];
  const empty = total === 0 ? ['[the file is empty]'] : [];
  return {
    content: [header, ...body, ...more, ...empty].join('\n'),
    details: {
      path: file.path,
      bytes: file.stats.size,
      totalLines: total,
      firstLine: window.lines.length === 0 ? 0 : offset,
      lastLine: window.lines.length === 0 ? 0 : lastLine,
      truncated,
    },
  };
}

function encodingNote(encoding: Encoding): string {
  if (encoding === 'utf-8') return '';
  if (encoding === 'latin1') return ' (not UTF-8: decoded as Latin-1, which may be wrong; edit_file refuses this file)';
  return ` (decoded from ${encoding.toUpperCase()}; edit_file refuses this file)`;
}

async function readImage(
  file: FileToRead,
  mediaType: string,
  signal: AbortSignal,
  maxBytes: number,
): Promise<ToolResult> {
  const { path } = file;
  const tooLarge = (bytes: number): FileProblem =>
    new FileProblem('too_large', `${path} is an image of ${bytes} bytes; the limit is ${maxBytes}.`);
  if (file.stats.size > maxBytes) throw tooLarge(file.stats.size);
  const bytes = await readAt(file, 0, maxBytes + 1, signal);
  if (bytes.length > maxBytes) throw tooLarge(bytes.length);
  return {
    content: [
      { type: 'text', text: `${path}: ${mediaType}, ${counted(bytes.length, 'byte')}` },
      { type: 'image', mediaType, data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64') },
    ],
    details: { path, bytes: bytes.length, mediaType, totalLines: 0, firstLine: 0, lastLine: 0, truncated: false },
    reads: [{ path: file.real, hash: idOfBytes(bytes) }],
  };
}

/** Up to `length` bytes from `position`; fewer only at the file's end. Memory follows what is really there. */
export async function readAt(
  file: OpenedFile,
  position: number,
  length: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let read = 0;
  while (read < length) {
    if (signal !== undefined) stopIfAborted(signal, `Reading ${file.path}`);
    const chunk = Buffer.allocUnsafe(Math.min(length - read, chunkBytes));
    const { bytesRead } = await file.handle.read(chunk, 0, chunk.length, position + read);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    read += bytesRead;
  }
  return Buffer.concat(chunks, read);
}
