/** Sections of a repository's settings that run nothing, with their keys; null for any key. */
const harmless: Readonly<Record<string, ReadonlySet<string> | null>> = {
  core: new Set(
    (
      'repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf ' +
      'quotepath abbrev longpaths protecthfs protectntfs compression checkstat trustctime preloadindex untrackedcache ' +
      'commitgraph multipackindex sharedrepository sparsecheckout sparsecheckoutcone splitindex hidedotfiles'
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
  extensions: new Set(['objectformat', 'refstorage', 'worktreeconfig']),
  submodule: new Set('active url branch path ignore shallow fetchrecursesubmodules'.split(' ')),
  worktree: null,
  maintenance: null,
  feature: null,
  gui: null,
  lfs: null,
};

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
