import { sniff } from '../text/decode.ts';
import type { EditorFiles, OpenedFile, ReadHandle } from './open.ts';

const MOST = 10 * 1024 * 1024;
const SNIFFED = 8192;
const MARK = '\ufeff';

/** The file as its editor has it; as it is on the disk where there is no editor, or no text. */
export async function asEdited(file: OpenedFile, path: string, editor: EditorFiles | undefined): Promise<OpenedFile> {
  if (editor?.read === undefined || file.stats.size > MOST) return file;
  const start = Buffer.alloc(SNIFFED);
  const { bytesRead } = await file.handle.read(start, 0, SNIFFED, 0);
  const sniffed = sniff(start.subarray(0, bytesRead), bytesRead < SNIFFED);
  if (sniffed.kind === 'binary' || sniffed.encoding !== 'utf-8') return file;
  const text = await editor.read(path);
  if (text === null) return file;
  const mark = sniffed.bom && !text.startsWith(MARK) ? MARK : '';
  return { ...file, handle: heldIn(Buffer.from(mark + text), file.handle) };
}

/** Bytes in memory, read like the file that they stand for. */
const heldIn = (bytes: Buffer, { close }: ReadHandle): ReadHandle => ({
  read: async (buffer, offset, length, position) => ({
    bytesRead: bytes.copy(buffer, offset, position, position + length),
  }),
  close,
});
