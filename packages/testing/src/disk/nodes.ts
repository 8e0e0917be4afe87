import type { Chance } from '../chance.ts';

/** What a file has: as everyone sees it, and as it is on the disk, with the changes between the two. */
export interface FileNode {
  readonly kind: 'file';
  seen: Buffer;
  onDisk: Buffer;
  unsynced: FileChange[];
  mtimeMs: number;
}

export interface FolderNode {
  readonly kind: 'folder';
  seen: Map<string, DiskNode>;
  onDisk: Map<string, DiskNode>;
  unsynced: EntryChange[];
  mtimeMs: number;
}

export type DiskNode = FileNode | FolderNode;

/** Bytes put at a place, or a new length. */
export type FileChange = { readonly at: number; readonly bytes: Uint8Array } | { readonly length: number };

/** Names that come, change and go together: a rename is one change. */
export type EntryChange = readonly (readonly [name: string, node: DiskNode | null])[];

export const newFile = (): FileNode => ({
  kind: 'file',
  seen: Buffer.alloc(0),
  onDisk: Buffer.alloc(0),
  unsynced: [],
  mtimeMs: Date.now(),
});

export const newFolder = (): FolderNode => ({
  kind: 'folder',
  seen: new Map(),
  onDisk: new Map(),
  unsynced: [],
  mtimeMs: Date.now(),
});

function changed(bytes: Buffer, change: FileChange): Buffer {
  if ('length' in change) {
    return change.length <= bytes.length ? bytes.subarray(0, change.length) : resized(bytes, change.length);
  }
  const end = change.at + change.bytes.length;
  const all = resized(bytes, Math.max(bytes.length, end));
  all.set(change.bytes, change.at);
  return all;
}

/** A copy, with zeros where there was nothing: so a file system shows a hole. */
function resized(bytes: Buffer, length: number): Buffer {
  const all = Buffer.alloc(length);
  bytes.copy(all);
  return all;
}

export function changeFile(file: FileNode, change: FileChange): void {
  file.seen = changed(file.seen, change);
  file.unsynced.push(change);
  file.mtimeMs = Date.now();
}

export function changeFolder(folder: FolderNode, change: EntryChange): void {
  putEntries(folder.seen, change);
  folder.unsynced.push(change);
  folder.mtimeMs = Date.now();
}

function putEntries(entries: Map<string, DiskNode>, change: EntryChange): void {
  for (const [name, node] of change) {
    if (node === null) entries.delete(name);
    else entries.set(name, node);
  }
}

export function syncNode(node: DiskNode): void {
  // Not what is seen: of that, some may have been lost by a sync that failed.
  if (node.kind === 'file') for (const change of node.unsynced) node.onDisk = changed(node.onDisk, change);
  else for (const change of node.unsynced) putEntries(node.onDisk, change);
  node.unsynced = [];
}

/** A sync that fails: some of the changes are on the disk, and of the others the system has let go. */
export function loseSync(file: FileNode, chance: Chance): void {
  for (const change of file.unsynced) if (chance() < 0.5) file.onDisk = changed(file.onDisk, change);
  file.unsynced = [];
}

/**
 * What the disk has when the power has failed. Of what wasn't synced it has all, or nothing, or what came first with a torn
 * end, or any part of it: the system writes in the order it likes.
 */
export function loseUnsynced(root: FolderNode, chance: Chance): void {
  const known = new Set<DiskNode>();
  const lose = (node: DiskNode): void => {
    if (known.has(node)) return;
    known.add(node);
    node.mtimeMs -= OFF_MS;
    if (node.kind === 'file') {
      for (const change of survivors(node.unsynced, chance)) {
        node.onDisk = changed(node.onDisk, chance() < 0.3 ? torn(change, chance) : change);
      }
      node.seen = Buffer.from(node.onDisk);
    } else {
      for (const change of survivors(node.unsynced, chance)) putEntries(node.onDisk, change);
      node.seen = new Map(node.onDisk);
      for (const child of node.seen.values()) lose(child);
    }
    node.unsynced = [];
  };
  lose(root);
}

/** Milliseconds that the machine was off. */
const OFF_MS = 3_600_000;

function survivors<Change>(changes: readonly Change[], chance: Chance): readonly Change[] {
  const draw = chance();
  if (draw < 0.15) return changes;
  if (draw < 0.3) return [];
  if (draw < 0.6) return changes.slice(0, Math.floor(chance() * (changes.length + 1)));
  return changes.filter(() => chance() < 0.5);
}

/** The beginning or the end of what was written. */
function torn(change: FileChange, chance: Chance): FileChange {
  if ('length' in change) return change;
  const cut = Math.floor(chance() * (change.bytes.length + 1));
  return chance() < 0.7
    ? { at: change.at, bytes: change.bytes.subarray(0, cut) }
    : { at: change.at + cut, bytes: change.bytes.subarray(cut) };
}
