import { errorText, TreadleError } from '@treadle/core';
import { existsSync, realpathSync, statSync, type Stats } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isUtf8 } from '../text/decode.ts';
import { componentsOf, relativeToRoots } from './components.ts';
import { openDirectory, type Directory, type Holding } from './directory.ts';
import { asEdited } from './editor.ts';
import { exclusively } from './locks.ts';
import { locate, type Location } from './locate.ts';
import { openRegular, requireRegular, type EditorFiles, type OpenedFile, type OpenPolicy } from './open.ts';
import { FileProblem, problemFrom } from './problem.ts';
import { replaceFile, requireUnchanged } from './replace.ts';

/** Options of a confined folder. */
export interface RootOptions {
  /**
   * A file with several hard links may lie outside the root under another name, so it is refused. `allow` opens it;
   * for trees that share files by hard links on purpose.
   */
  readonly hardLinks?: 'refuse' | 'allow';
  /** How directories are held while a path is walked; what the system offers when absent. */
  readonly holding?: Holding;
  /** An editor whose open files are read and written instead of those on the disk. Default: none. */
  readonly editor?: EditorFiles;
  /** More folders that the tools may work in: absolute paths. Their files have absolute names. Default: none. */
  readonly directories?: readonly string[];
}

/** A change to a file: given what is there now (or nothing), its new bytes. */
export type FileChange = (current: OpenedFile | undefined) => Promise<Uint8Array> | Uint8Array;

/** Rejects when a file is not to be replaced. `real` is its real path, relative to the root, with `/`. */
export type FileCheck = (current: OpenedFile | undefined, real: string) => Promise<void>;

/** Options of an update of a file. */
export interface UpdateOptions {
  /** Make the file, and the folders above it, when missing. */
  readonly create: boolean;
  readonly signal: AbortSignal;
  /**
   * Called with what is there now: before the change is made, and again, with the same open file, when the new content is
   * on the disk and only has to take its place.
   */
  readonly check?: FileCheck;
  /** Called with what is there now, and with what is to be, before anything is written. Rejects to leave the file alone. */
  readonly beforeReplace?: (replacing: Replacing) => Promise<void>;
}

/** A file that was updated. */
export interface UpdatedFile {
  readonly path: string;
  /** The file's real path with `/`: relative to the root, absolute in one of its `directories`. */
  readonly real: string;
  readonly created: boolean;
  /** What it holds now. */
  readonly content: Uint8Array;
}

export interface Replacing extends Pick<UpdatedFile, 'real' | 'content'> {
  readonly current: OpenedFile | undefined;
}

/** A folder that file tools can't leave. Every file the tools touch is opened here. */
export interface Root {
  /** The folder's real path. */
  readonly path: string;
  readonly policy: OpenPolicy;
  /** More folders that tools may work in. */
  readonly directories: readonly Root[];
  /** The folder that a path is in: one of `directories` for an absolute path below it, or this one. */
  of(input: string): Root;
  /** `input` relative to the root with `/`, `.` for the root itself; refuses what isn't a path inside it. */
  relative(input: string): string;
  /** Walks to `input` without leaving the root. Close the location. */
  locate(input: string, options?: { readonly createParents?: boolean }): Promise<Location>;
  /** Opens a regular file for reading. Close its handle. `real` is its real path, relative to the root, with `/`. */
  open(input: string): Promise<OpenedFile & { readonly real: string }>;
  /**
   * Replaces a file atomically by what `change` makes of it, one update of a file at a time. Refuses when somebody else
   * changes the file meanwhile.
   */
  update(input: string, change: FileChange, options: UpdateOptions): Promise<UpdatedFile>;
  /** Deletes a regular file, if `check` doesn't reject when it sees it. */
  remove(input: string, check: (current: OpenedFile, real: string) => Promise<void>): Promise<void>;
}

/**
 * Opens `folder` as a root. Throws `invalid_definition` when it is not a directory.
 *
 * The confinement is by real path: absolute paths outside, `..`, `~`, NUL characters, symbolic links that lead out
 * (also ones put in place between check and use), files with hard links elsewhere, devices, sockets and pipes are
 * refused. Symbolic links that stay inside, and absolute paths inside, work.
 */
export function openRoot(folder: string, options: RootOptions = {}): Root {
  const directories = (options.directories ?? []).map((directory) => {
    const root = openFolder(directory, options, true);
    return { root, paths: [resolve(directory), root.path] };
  });
  const holding = (input: string): Root | undefined =>
    directories.find(({ paths }) => relativeToRoots(input, paths) !== undefined)?.root;
  const own = openFolder(folder, options, false);
  const root: Root = {
    ...own,
    directories: directories.map((each) => each.root),
    of: (input) => (relativeToRoots(input, [resolve(folder), own.path]) === undefined && holding(input)) || root,
  };
  return root;
}

/** @param isNamedWhole whether its files have absolute names */
function openFolder(folder: string, options: RootOptions, isNamedWhole: boolean): Root {
  const given = resolve(folder);
  const path = realDirectory(folder, given);
  const roots = given === path ? [path] : [given, path];
  const holding = options.holding ?? (existsSync('/proc/self/fd') ? 'descriptor' : 'path');
  const { hardLinks = 'refuse', editor } = options;
  const policy: OpenPolicy = { root: path, holding, hardLinks, isNamedWhole, ...(editor && { editor }) };

  const relative = (input: string): string => nameOf(componentsOf(input, roots).join('/') || '.', policy);
  const walk = async (input: string, createParents: boolean): Promise<Location> => {
    const components = componentsOf(input, roots);
    try {
      return await locate(components, { root: path, roots, holding, createParents });
    } catch (error) {
      throw problemFrom(error, relative(input));
    }
  };

  /** Walks to `input` for `work`. */
  const at = async <Value>(
    input: string,
    createParents: boolean,
    work: (location: Location, shown: string) => Promise<Value>,
  ): Promise<Value> => {
    const shown = relative(input);
    const location = await walk(input, createParents);
    try {
      return await work(location, shown);
    } catch (error) {
      throw problemFrom(error, shown);
    } finally {
      await location.close();
    }
  };
  const alone = <Value>({ real }: Location, work: () => Promise<Value>): Promise<Value> =>
    exclusively(`${path}\0${real}`, work);

  const root: Root = {
    path,
    policy,
    directories: [],
    of: () => root,
    relative,
    locate: (input, locateOptions) => walk(input, locateOptions?.createParents ?? false),
    open: (input) =>
      at(input, false, async (location, shown) => {
        const { directory, name, stats } = existing(location, shown);
        const { real } = location;
        const file = await edited(await openRegular(directory, name, shown, stats, policy), real, policy);
        return { ...file, real: nameOf(real, policy) };
      }),
    update: (input, change, options) =>
      at(input, options.create, (location, shown) =>
        alone(location, () => updateAt(location, shown, change, options, policy)),
      ),
    remove: (input, check) =>
      at(input, false, (location, shown) => alone(location, () => removeAt(location, shown, check, policy))),
  };
  return root;
}

/** The name of a file of a folder, by its path below the folder. */
const nameOf = (below: string, { root, isNamedWhole }: OpenPolicy): string =>
  isNamedWhole === true ? join(root, below) : below;

/** A root as tools take it: a folder's path, or a root that is shared with other tools. */
export const asRoot = (root: string | Root, options: RootOptions = {}): Root =>
  typeof root === 'string' ? openRoot(root, options) : root;

function realDirectory(folder: string, given: string): string {
  const problem = (reason: string, cause?: unknown): TreadleError =>
    new TreadleError('invalid_definition', `The root folder ${JSON.stringify(folder)} ${reason}.`, { cause });
  if (folder === '') throw problem('is an empty path; name a folder');
  let path: string;
  try {
    path = realpathSync(given);
  } catch (error) {
    throw problem('does not exist or can not be read', error);
  }
  if (!statSync(path).isDirectory()) throw problem('is not a directory');
  return path;
}

function existing(location: Location, shown: string): { directory: Directory; name: string; stats: Stats } {
  const { directory, name, stats } = location;
  if (name === undefined) {
    throw new FileProblem('is_directory', `${shown} is a directory. Use list_files to see what is in it.`);
  }
  if (stats === undefined) throw new FileProblem('not_found', `${shown} does not exist.`);
  return { directory, name, stats };
}

async function updateAt(
  location: Location,
  shown: string,
  change: FileChange,
  options: UpdateOptions,
  policy: OpenPolicy,
): Promise<UpdatedFile> {
  const { directory, name, real } = location;
  if (name === undefined) throw new FileProblem('is_directory', `${shown} is a directory, not a file.`);
  // Located before its turn came: what is there now may be what an earlier update left.
  const opened = await openIfThere(location, name, shown, policy);
  if (opened === undefined && !options.create) throw new FileProblem('not_found', `${shown} does not exist.`);
  try {
    const { check, signal, beforeReplace } = options;
    const current = opened && (await edited(opened, real, policy));
    const known = nameOf(real, policy);
    await check?.(current, known);
    const content = await change(current);
    await beforeReplace?.({ real: known, current, content });
    const existing = current?.stats;
    const write = isUtf8(content, true) ? policy.editor?.write : undefined;
    if (write) {
      // Somebody may have typed meanwhile.
      await check?.(opened && (await edited(opened, real, policy)), known);
      if (signal.aborted) throw new FileProblem('aborted', `${shown} was not written: aborted.`);
      await write(join(policy.root, real), Buffer.from(content).toString('utf8')).catch((error: unknown) => {
        throw new FileProblem('io', `The editor could not write ${shown}: ${errorText(error)}`, error);
      });
      return { path: shown, real: known, created: current === undefined, content };
    }
    const again = check && (() => check(current, known));
    await replaceFile({ directory, name, path: shown, content, existing, check: again, signal, policy });
    return { path: shown, real: known, created: current === undefined, content };
  } finally {
    await opened?.handle.close();
  }
}

/** A file as the editor has it, where there is one. */
const edited = (file: OpenedFile, real: string, { root, editor }: OpenPolicy): Promise<OpenedFile> =>
  asEdited(file, join(root, real), editor);

async function removeAt(
  location: Location,
  shown: string,
  check: (current: OpenedFile, real: string) => Promise<void>,
  policy: OpenPolicy,
): Promise<void> {
  const { directory, name, stats } = existing(location, shown);
  const current = await openRegular(directory, name, shown, stats, policy);
  try {
    await check(current, location.real);
    await requireUnchanged({ directory, name, existing: current.stats, path: shown });
    await unlink(directory.at(name));
  } finally {
    await current.handle.close();
  }
  await directory.sync();
}

async function openIfThere(
  location: Location,
  name: string,
  shown: string,
  policy: OpenPolicy,
): Promise<OpenedFile | undefined> {
  if (location.stats !== undefined) requireRegular(location.stats, shown, policy);
  try {
    return await openRegular(location.directory, name, shown, undefined, policy);
  } catch (error) {
    if (error instanceof FileProblem && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Opens the folder at `location` for `work`. */
export async function inFolder<Value>(
  root: Root,
  location: Location,
  work: (directory: Directory) => Promise<Value>,
): Promise<Value> {
  const { directory: above, name, real } = location;
  const opening = name === undefined ? openDirectory(`${above.self}/.`, root.policy.holding) : above.enter(name);
  const directory = await opening.catch((error: unknown) => {
    throw problemFrom(error, real);
  });
  try {
    return await work(directory);
  } finally {
    await directory.close();
  }
}
