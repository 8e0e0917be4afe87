import * as nodeFiles from 'node:fs/promises';

/** An open file, as far as a journal uses it. Node's own `FileHandle` is one. */
export interface JournalFile {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
  writeFile(data: string | Uint8Array): Promise<void>;
  stat(): Promise<{ readonly size: number }>;
  truncate(length: number): Promise<void>;
  /** What was written is on the disk when this resolves. */
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface WriteOptions {
  readonly mode?: number;
  readonly flag?: string;
}

/** What a journal of files needs of a file system: these functions of `node:fs/promises`. */
export interface JournalFileSystem {
  open(path: string, flags: string, mode?: number): Promise<JournalFile>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  writeFile(path: string, data: string, options?: WriteOptions): Promise<void>;
  copyFile(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rm(path: string, options: { readonly recursive?: boolean; readonly force: true }): Promise<void>;
  /** Returns the first folder that was made, with `recursive`. */
  mkdir(path: string, options: { readonly recursive?: boolean; readonly mode: number }): Promise<string | undefined>;
  readdir(path: string): Promise<string[]>;
  stat(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }>;
  truncate(path: string, length: number): Promise<void>;
}

export const systemFiles: JournalFileSystem = nodeFiles;
