import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { relativeToRoots } from '../root/components.ts';
import { commandVariables } from '../bash/environment.ts';

/** What a confined command sees beside the system's programs. All of it is read-only. */
export interface ReadView {
  /** The working folder's real path. */
  readonly root: string;
  /** Further files and folders, by their real paths. */
  readonly paths: readonly string[];
}

/** Where systems keep programs, libraries and what these read, such as locales and time zones. */
const systemPaths = [
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  ...['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libx32', '/usr/libexec', '/usr/share'],
  ...['/usr/local/bin', '/usr/local/sbin', '/usr/local/lib', '/usr/local/lib64', '/usr/local/libexec'],
  ...['/usr/local/share', '/nix/store', '/gnu/store', '/run/current-system/sw'],
  ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/localtime', '/etc/magic'],
];

/** Whether every view shows this path. */
export const isSystemPath = (path: string): boolean => relativeToRoots(path, systemPaths) !== undefined;

/** The mounts of a view: arguments of bubblewrap. `names` are the descriptors of the lists of users and groups. */
export function viewMounts(
  { root, paths }: ReadView,
  names: { readonly users: number; readonly groups: number },
): string[] {
  const shown = outermost([root, ...paths.filter((path) => !isSystemPath(path))]);
  return [
    ...systemMounts(),
    ...['--ro-bind-data', String(names.users), '/etc/passwd', '--ro-bind-data', String(names.groups), '/etc/group'],
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
    ...['--remount-ro', '/', '--chdir', root],
  ];
}

/** The paths that lie in none of the others, each once. */
function outermost(paths: readonly string[]): string[] {
  const unique = [...new Set(paths)];
  return unique.filter((path) =>
    unique.every((other) => other === path || relativeToRoots(path, [other]) === undefined),
  );
}

function systemMounts(): string[] {
  return systemPaths.flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    const isFolderLink = stats.isSymbolicLink() && path.lastIndexOf('/') === 0;
    // `/bin` leads to `/usr/bin` on most systems; programs compare such paths.
    return isFolderLink ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  });
}

/** Users or groups by name and number, from `/etc/passwd` or `/etc/group`, and nothing else about them. */
export function namesIn(file: '/etc/passwd' | '/etc/group'): Uint8Array {
  const [fields, kept] = file === '/etc/passwd' ? [7, [0, 2, 3]] : [4, [0, 2]];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const shown = lines
    .filter(({ length }) => length === fields)
    .map((line) => line.map((field, index) => (kept.includes(index) ? field : '')).join(':'));
  return Buffer.from(shown.map((line) => `${line}\n`).join(''));
}

/** Variables that only change how a program writes what it prints. */
const keptVariables = /^(?:PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|COLUMNS|LS_COLORS)$/;

/** Settings that keep git from writing, from starting other programs, and from looking into submodules that say nothing of `ignore`. */
const gitSettings: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.pager': 'cat',
  // `git diff` writes the index whatever GIT_OPTIONAL_LOCKS says.
  'diff.autoRefreshIndex': 'false',
  'diff.ignoreSubmodules': 'all',
  'status.submoduleSummary': 'false',
  'submodule.recurse': 'false',
  // Git refuses a repository of another user because of what its settings may run.
  'safe.directory': '*',
};

/** The whole environment of a confined command: nothing of ours that may be a secret or change what a program does. */
export function viewEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(environment).filter(([name]) => keptVariables.test(name));
  const settings = Object.entries(gitSettings).flatMap(([key, value], index): readonly [string, string][] => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...Object.fromEntries<string>(kept),
    ...commandVariables,
    HOME: '/tmp',
    TMPDIR: '/tmp',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_CONFIG_COUNT: String(Object.keys(gitSettings).length),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_DISCOVERY_ACROSS_FILESYSTEM: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    ...Object.fromEntries<string>(settings),
  };
}
