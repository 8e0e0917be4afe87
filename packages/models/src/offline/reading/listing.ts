import type { JsonObject } from '@treadle/core';
import { globOf, type FileKind, type Selection } from '../language/selection.ts';
import { counted } from '../language/words.ts';
import { callTool, type FileFact, type Room, type Script } from '../script.ts';

/** What `list_files` printed. */
export interface ListedFolder {
  readonly files: readonly FileFact[];
  /** Paths of folders, without the closing slash. */
  readonly folders: readonly string[];
  /** Links, devices and the like: they have no size. */
  readonly others: readonly string[];
  /** More entries matched than the limit let through. */
  readonly cut: boolean;
  /** Something else is missing, in the tool's words. */
  readonly incomplete: readonly string[];
  /** Names that are never listed, such as `node_modules`. */
  readonly skipped: readonly string[];
}

const ENTRY = /^\s*(\d+|-) {2}(.+)$/;
const NOTE = /^\[(.+)\]$/;

/** Reads the lines `bytes  path` and `-  folder/`, and the notes in brackets after them. */
export function parseListing(text: string): ListedFolder {
  const files: FileFact[] = [];
  const folders: string[] = [];
  const others: string[] = [];
  const incomplete: string[] = [];
  let skipped: readonly string[] = [];
  let cut = false;
  for (const line of text.split('\n')) {
    const [, size, path] = ENTRY.exec(line) ?? [];
    if (path !== undefined && size !== undefined) {
      if (size !== '-') files.push({ path, bytes: Number(size) });
      else if (path.endsWith('/')) folders.push(path.slice(0, -1));
      else others.push(path);
      continue;
    }
    const note = NOTE.exec(line)?.[1];
    if (note === undefined) continue;
    if (/^\d+ of \d+ entries shown/.test(note)) cut = true;
    else if (note.startsWith('not listed: ')) skipped = note.slice('not listed: '.length).split(', ');
    else incomplete.push(note);
  }
  return { files, folders, others, cut, incomplete, skipped };
}

/** Files in the order asked for, and what has to be said about their completeness. */
export interface Listing {
  readonly files: readonly FileFact[];
  readonly note?: string;
}

const DEEP = 30;
const MANY = 5000;
/** Folders listed one by one before giving up on a tree that is too large for one list. */
const MOST_FOLDERS = 60;

/** Lists the files of a selection, in its order; without an order by path. */
export function* listSelection(room: Room, selection: Selection): Script<Listing> {
  const { folder, order, count } = selection;
  const pattern = patternOf(selection);
  const filtered = needsFilter(selection, pattern);
  const sort = order === 'newest' || order === 'oldest' ? 'modified' : 'size';
  const ask = (path: string, limit: number, depth = DEEP): JsonObject => ({
    path,
    ...(pattern !== undefined && { pattern }),
    max_depth: depth,
    sort,
    limit,
  });
  const bySize = sort === 'size';
  // The largest come first, so no more of them are needed; folders in a list by date take room, so that needs them all.
  const enough = order === 'largest' && !filtered && count !== undefined;
  const first = parseListing(
    yield* callTool(
      room,
      `Listing the files of ${placeName(folder)}.`,
      'list_files',
      ask(folder, enough ? count : MANY),
    ),
  );
  const problems = new Set(first.incomplete);
  let files = first.files;
  if (first.cut && !enough) {
    if (bySize) files = yield* listInParts(room, folder, ask, problems);
    else if (order === 'oldest' || filtered)
      problems.add(`there are more than ${MANY} entries, and only the newest were seen`);
  }
  const kept = files.filter((file) => !filtered || matches(file.path, selection));
  return {
    files: ordered(kept, order).slice(0, count),
    ...(problems.size > 0 && { note: `Note: ${[...problems].join('; ')}. So this may be incomplete.` }),
  };
}

/** A tree with more entries than one list holds, folder by folder. */
function* listInParts(
  room: Room,
  root: string,
  ask: (path: string, limit: number, depth?: number) => JsonObject,
  problems: Set<string>,
): Script<readonly FileFact[]> {
  const files: FileFact[] = [];
  const open = [root];
  const listFolder = (path: string, args: JsonObject): Script<string> =>
    callTool(room, `There is more than one list holds: going through ${placeName(path)}.`, 'list_files', args);
  for (let opened = 0; open.length > 0; opened += 1) {
    const path = open.shift() ?? root;
    if (opened >= MOST_FOLDERS) {
      problems.add(`the folder is too large: ${counted(open.length + 1, 'subfolder')} of it were not looked at`);
      break;
    }
    const whole = path === root ? undefined : parseListing(yield* listFolder(path, ask(path, MANY)));
    if (whole !== undefined && !whole.cut) {
      files.push(...whole.files);
      for (const problem of whole.incomplete) problems.add(problem);
      continue;
    }
    const direct = parseListing(yield* listFolder(path, { ...ask(path, MANY, 1) }));
    files.push(...direct.files);
    if (direct.cut) problems.add(`${placeName(path)} itself has more than ${MANY} entries`);
    const folders = parseListing(yield* listFolder(path, { path, max_depth: 1, sort: 'path', limit: MANY }));
    open.push(...folders.folders);
  }
  return files;
}

function patternOf(selection: Selection): string | undefined {
  const glob = selection.also.find((kind) => kind.glob !== undefined)?.glob;
  if (glob !== undefined) return glob;
  const [kind] = selection.also.filter((one) => one.extensions !== undefined);
  return globOf({ ...selection, also: selection.kinds.length > 0 || kind === undefined ? [] : [kind] }) ?? undefined;
}

/** Whether the tool's pattern says less than the selection does. */
function needsFilter(selection: Selection, pattern: string | undefined): boolean {
  const kinds = selection.kinds.length > 0 ? 1 : 0;
  const also = selection.also.filter((kind) => kind.tests !== true);
  return kinds + also.length > (pattern === undefined ? 0 : 1) || also.length < selection.also.length;
}

/** By extension and by name; globs are the tool's. */
function matches(path: string, selection: Selection): boolean {
  const ofKind = (kind: FileKind): boolean => {
    if (kind.tests === true) return /(?:[._-](?:test|spec)s?\.[^/]+$)|(?:^|\/)(?:tests?|__tests__|specs?)\//.test(path);
    return kind.extensions?.includes(path.slice(path.lastIndexOf('.') + 1).toLowerCase()) ?? true;
  };
  return (selection.kinds.length === 0 || selection.kinds.some(ofKind)) && selection.also.every(ofKind);
}

function ordered(files: readonly FileFact[], order: Selection['order']): readonly FileFact[] {
  const byPath = (a: FileFact, b: FileFact): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  const bytes = (file: FileFact): number => file.bytes ?? 0;
  if (order === 'largest') return [...files].sort((a, b) => bytes(b) - bytes(a) || byPath(a, b));
  if (order === 'smallest') return [...files].sort((a, b) => bytes(a) - bytes(b) || byPath(a, b));
  // The tool's order is by date, newest first; the dates themselves are not in the list.
  if (order === 'newest') return files;
  if (order === 'oldest') return [...files].reverse();
  return [...files].sort(byPath);
}

/** `this folder` or the folder's path. */
export function placeName(folder: string): string {
  return folder === '.' ? 'this folder' : folder;
}
