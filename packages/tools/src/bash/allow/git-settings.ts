import { lstat, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { relativeToRoots } from '../../root/components.ts';
import { errnoOf } from '../../root/problem.ts';

/** Sections of a repository's settings that run nothing, with their keys; null for any key. */
const harmless: Readonly<Record<string, ReadonlySet<string> | null>> = {
  core: new Set(
    (
      'repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf ' +
      'quotepath abbrev longpaths protecthfs protectntfs compression checkstat trustctime'
    ).split(' '),
  ),
  remote: new Set('url fetch pushurl push tagopt prune skipdefaultupdate skipfetchall mirror gh-resolved'.split(' ')),
  branch: null,
  user: new Set('name email signingkey useconfigonly'.split(' ')),
  author: null,
  committer: null,
  init: new Set(['defaultbranch']),
  pull: null,
  push: null,
  fetch: null,
  merge: new Set('ff conflictstyle log renames stat verbosity'.split(' ')),
  rebase: new Set('autosquash autostash stat missingcommitscheck updaterefs'.split(' ')),
  advice: null,
  color: null,
  column: null,
  status: null,
  rerere: null,
  gc: null,
  pack: null,
  index: null,
  commit: new Set('gpgsign verbose status cleanup'.split(' ')),
  tag: new Set('gpgsign sort'.split(' ')),
  log: new Set('date decorate follow abbrevcommit'.split(' ')),
  diff: new Set('renames algorithm mnemonicprefix colormoved context noprefix'.split(' ')),
  extensions: new Set(['objectformat', 'refstorage']),
};

const longestSettings = 256 * 1024;

/**
 * Why a git command in `folder` may do more than look: the repository's own settings name programs that git runs (a
 * monitor, a filter, a pager), or it is not all inside the root. Undefined when it only looks. The user's own settings,
 * outside the repository, are the user's.
 */
export async function gitReason(folder: string, root: string): Promise<string | undefined> {
  const found = await findRepository(folder, root);
  if (found === undefined) return 'the repository is not in the working folder';
  // A link or a file leads to where the repository really is: to a place that others of its kind share.
  if (found.kind !== 'directory') return 'the repository is kept elsewhere';
  for (const name of ['commondir', 'config.worktree', 'modules']) {
    if (await exists(join(found.path, name))) return `the repository has ${name}, which brings settings of its own`;
  }
  const text = await settingsText(join(found.path, 'config'));
  if (text === undefined) return "the repository's settings can not be read";
  const foreign = foreignSetting(text);
  return foreign === undefined ? undefined : `the repository's settings have ${foreign}, which may run a program`;
}

async function findRepository(
  folder: string,
  root: string,
): Promise<{ path: string; kind: 'directory' | 'other' } | undefined> {
  for (let at = folder; relativeToRoots(at, [root]) !== undefined; at = dirname(at)) {
    // A folder may itself be a repository, without a `.git`.
    if ((await exists(join(at, 'HEAD'))) && (await exists(join(at, 'objects')))) return { path: at, kind: 'other' };
    const path = join(at, '.git');
    const stats = await lstat(path).catch(unlessMissing);
    if (stats !== undefined) return { path, kind: stats.isDirectory() ? 'directory' : 'other' };
    if (at === dirname(at)) break;
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(unlessMissing)) !== undefined;
}

function unlessMissing(error: unknown): undefined {
  if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
  throw error;
}

async function settingsText(path: string): Promise<string | undefined> {
  try {
    const [real, stats] = await Promise.all([realpath(path), lstat(path)]);
    return real === path && stats.isFile() && stats.size <= longestSettings ? await readFile(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** The first setting that is not known to be harmless; also one that can't be read. */
export function foreignSetting(text: string): string | undefined {
  let section = '';
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue;
    // A value that goes on in the next line could hide what that line is.
    if (trimmed.endsWith('\\')) return 'a value of several lines';
    const header = /^\[\s*([\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]$/.exec(trimmed)?.[1];
    if (header !== undefined) {
      section = header.toLowerCase();
      if (!Object.hasOwn(harmless, section)) return `[${section}]`;
      continue;
    }
    const key = /^([A-Za-z][\w-]*)\s*(?:=|$)/.exec(trimmed)?.[1]?.toLowerCase();
    if (key === undefined || section === '') return 'a line that is not understood';
    const keys = harmless[section];
    if (keys !== null && keys?.has(key) !== true) return `${section}.${key}`;
  }
  return undefined;
}
