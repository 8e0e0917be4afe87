import {
  changeFile,
  changeFolder,
  loseSync,
  newFile,
  newFolder,
  syncNode,
  type DiskNode,
  type FileNode,
  type FolderNode,
} from './nodes.ts';
import type { Chance } from '../chance.ts';
import { diskError, type DiskCall } from './errors.ts';

/** An open file of a simulated disk: these methods of Node's `FileHandle`. */
export interface SimulatedFile {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
  writeFile(data: string | Uint8Array): Promise<void>;
  stat(): Promise<{ readonly size: number; readonly mtimeMs: number }>;
  truncate(length: number): Promise<void>;
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A simulated disk as a process sees it: these functions of `node:fs/promises`. */
export interface SimulatedFileSystem {
  open(path: string, flags: string, mode?: number): Promise<SimulatedFile>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  writeFile(path: string, data: string, options?: { readonly mode?: number; readonly flag?: string }): Promise<void>;
  copyFile(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rm(path: string, options: { readonly recursive?: boolean; readonly force: true }): Promise<void>;
  mkdir(path: string, options: { readonly recursive?: boolean; readonly mode: number }): Promise<string | undefined>;
  readdir(path: string): Promise<string[]>;
  stat(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }>;
  truncate(path: string, length: number): Promise<void>;
}

/** Does what a call does, unless it fails; `fails` is what a failing one does all the same. */
export type Perform = <Value>(
  call: DiskCall,
  path: string,
  act: () => Value,
  fails?: (chance: Chance) => void,
) => Promise<Value>;

const partsOf = (path: string): string[] => path.split(/[\\/]/).filter((part) => part !== '');

interface Place {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: DiskNode | undefined;
}

/** The file system of the files below a folder, whose path is `/`. */
export function folderView(root: FolderNode, perform: Perform): SimulatedFileSystem {
  function placeOf(call: DiskCall, path: string): Place {
    const parts = partsOf(path);
    const name = parts.pop() ?? '';
    if (name === '') return { folder: root, name, node: root };
    let folder = root;
    for (const part of parts) {
      const next = folder.seen.get(part);
      if (next?.kind !== 'folder') throw diskError(next ? 'ENOTDIR' : 'ENOENT', call, path);
      folder = next;
    }
    return { folder, name, node: folder.seen.get(name) };
  }

  function nodeAt(call: DiskCall, path: string): DiskNode {
    const { node } = placeOf(call, path);
    if (!node) throw diskError('ENOENT', call, path);
    return node;
  }

  function fileAt(call: DiskCall, path: string): FileNode {
    const node = nodeAt(call, path);
    if (node.kind !== 'file') throw diskError('EISDIR', call, path);
    return node;
  }

  /** The file that `flags` open, made where they say so. */
  function opened(call: DiskCall, path: string, flags: string): DiskNode {
    const { folder, name, node } = placeOf(call, path);
    const makes = /[wa]/.test(flags);
    if (node && flags.includes('x')) throw diskError('EEXIST', call, path);
    if (!node && !makes) throw diskError('ENOENT', call, path);
    if (node?.kind === 'folder' && flags !== 'r') throw diskError('EISDIR', call, path);
    const file = node ?? newFile();
    if (!node) changeFolder(folder, [[name, file]]);
    else if (flags.startsWith('w') && file.kind === 'file') changeFile(file, { length: 0 });
    return file;
  }

  const sizeOf = (node: DiskNode): { readonly size: number; readonly mtimeMs: number } => ({
    size: node.kind === 'file' ? node.seen.length : 0,
    mtimeMs: node.mtimeMs,
  });

  function made(path: string, recursive: boolean): string | undefined {
    let folder = root;
    let first: string | undefined;
    const parts = partsOf(path);
    parts.forEach((part, index) => {
      const known = folder.seen.get(part);
      const isLast = index === parts.length - 1;
      if (known && known.kind !== 'folder') throw diskError(isLast ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
      if (known && isLast && !recursive) throw diskError('EEXIST', 'mkdir', path);
      if (!known && !isLast && !recursive) throw diskError('ENOENT', 'mkdir', path);
      const next = known ?? newFolder();
      if (!known) {
        changeFolder(folder, [[part, next]]);
        first ??= `/${parts.slice(0, index + 1).join('/')}`;
      }
      folder = next;
    });
    return first;
  }

  return {
    open: (path, flags) => perform('open', path, () => openFile(path, opened('open', path, flags), perform)),
    readFile: (path) => perform('readFile', path, () => fileAt('readFile', path).seen.toString('utf8')),
    writeFile: (path, data, { flag = 'w' } = {}) =>
      perform('writeFile', path, () => {
        const file = opened('writeFile', path, flag);
        if (file.kind === 'file' && data !== '') changeFile(file, { at: 0, bytes: Buffer.from(data) });
      }),
    copyFile: (from, to) =>
      perform('copyFile', from, () => {
        const bytes = Buffer.from(fileAt('copyFile', from).seen);
        const file = opened('copyFile', to, 'w');
        if (file.kind === 'file') changeFile(file, { at: 0, bytes });
      }),
    link: (from, to) =>
      perform('link', to, () => {
        const file = fileAt('link', from);
        const { folder, name, node } = placeOf('link', to);
        if (node) throw diskError('EEXIST', 'link', to);
        changeFolder(folder, [[name, file]]);
      }),
    rename: (from, to) =>
      perform('rename', to, () => {
        const node = nodeAt('rename', from);
        const old = placeOf('rename', from);
        const place = placeOf('rename', to);
        if (old.folder === place.folder) {
          changeFolder(place.folder, [
            [old.name, null],
            [place.name, node],
          ]);
        } else {
          changeFolder(place.folder, [[place.name, node]]);
          changeFolder(old.folder, [[old.name, null]]);
        }
      }),
    unlink: (path) =>
      perform('unlink', path, () => {
        fileAt('unlink', path);
        const { folder, name } = placeOf('unlink', path);
        changeFolder(folder, [[name, null]]);
      }),
    rm: (path, { recursive = false }) =>
      perform('rm', path, () => {
        const { folder, name, node } = placeOf('rm', path);
        if (node?.kind === 'folder' && !recursive) throw diskError('EISDIR', 'rm', path);
        if (node) changeFolder(folder, [[name, null]]);
      }),
    mkdir: (path, { recursive = false }) => perform('mkdir', path, () => made(path, recursive)),
    readdir: (path) =>
      perform('readdir', path, () => {
        const node = nodeAt('readdir', path);
        if (node.kind !== 'folder') throw diskError('ENOTDIR', 'readdir', path);
        return [...node.seen.keys()];
      }),
    stat: (path) => perform('stat', path, () => sizeOf(nodeAt('stat', path))),
    truncate: (path, length) => perform('truncate', path, () => changeFile(fileAt('truncate', path), { length })),
  };
}

function openFile(path: string, node: DiskNode, perform: Perform): SimulatedFile {
  function file(call: DiskCall): FileNode {
    if (node.kind === 'folder') throw diskError('EISDIR', call, path);
    return node;
  }
  const lost = (chance: Chance): void => {
    if (node.kind === 'file') loseSync(node, chance);
  };
  return {
    read: (buffer, offset, length, position) =>
      perform('read', path, () => {
        const bytes = file('read').seen.subarray(position, position + length);
        buffer.set(bytes, offset);
        return { bytesRead: bytes.length };
      }),
    write(buffer, offset, length, position) {
      const bytes = Uint8Array.from(buffer.subarray(offset, offset + length));
      return perform(
        'write',
        path,
        () => {
          changeFile(file('write'), { at: position, bytes });
          return { bytesWritten: bytes.length };
        },
        // A disk that is almost full takes a part.
        (chance) => {
          const part = bytes.subarray(0, Math.floor(chance() * bytes.length));
          if (part.length > 0) changeFile(file('write'), { at: position, bytes: part });
        },
      );
    },
    writeFile: (data) => perform('write', path, () => changeFile(file('write'), { at: 0, bytes: Buffer.from(data) })),
    stat: () => perform('stat', path, () => ({ size: file('stat').seen.length, mtimeMs: node.mtimeMs })),
    truncate: (length) => perform('truncate', path, () => changeFile(file('truncate'), { length })),
    datasync: () => perform('datasync', path, () => syncNode(node), lost),
    sync: () => perform('sync', path, () => syncNode(node), lost),
    close: () => perform('close', path, () => {}),
  };
}
