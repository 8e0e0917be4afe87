import { commandFolders, skillFolders } from '@treadle/skills';

import { join } from 'node:path';

import type { CliIo } from '../../cli/io.ts';
import { findFolderSettings, type FolderSettings } from '../../settings/combine.ts';
import { readSettingsFile } from '../../settings/settings.ts';
import type { GivenSettings, SettingSource } from '../options.ts';
import { readClaudeSettings, settingsObject, type ClaudeSettings } from './claude-settings.ts';

/** Settings that act, and how far. The last one that says something has the last word. */
export interface ActingSettings extends ClaudeSettings {
  readonly source: 'userSettings' | 'projectSettings' | 'localSettings' | 'cliArg';
  /** Whether what it allows counts: a project may tighten, and never loosen. */
  readonly mayAllow: boolean;
  /** Whether its hooks run. */
  readonly mayRun: boolean;
  /** Where its paths begin. */
  readonly base: string;
}

/** What is read of `.claude` for a session. */
export interface Sources {
  readonly settings: readonly ActingSettings[];
  /** Folders with files of agents, and of output styles. */
  readonly agents: readonly string[];
  readonly styles: readonly string[];
  readonly skills: ReturnType<typeof skillFolders>;
  readonly commands: ReturnType<typeof commandFolders>;
  readonly isTrusted: boolean;
  readonly found: FolderSettings;
}

/** The user's folder: `CLAUDE_CONFIG_DIR`, else `.claude` in the home folder. Null without a home. */
export function claudeFolder({ env }: Pick<CliIo, 'env'>): string | null {
  const { CLAUDE_CONFIG_DIR: own, HOME: home } = env;
  return own || (home ? join(home, '.claude') : null);
}

/** The model that settings name; empty when none does. */
export const modelOf = (settings: readonly ActingSettings[]): string =>
  settings.findLast(({ model }) => model !== undefined)?.model ?? '';

/** The environment, with what settings add to it; what is set already stays as it is. */
export function withVariables(env: CliIo['env'], settings: readonly ActingSettings[]): CliIo['env'] {
  const added = settings.flatMap(({ mayAllow, env: own }) => (mayAllow ? Object.entries(own) : []));
  return { ...Object.fromEntries(added), ...env };
}

/**
 * Reads the settings that a client wants read. Those of a folder act once the folder is trusted (`treadle run --trust`);
 * its hooks, what the user's own local file allows, its agents, skills, commands and output styles, while the files are those
 * that were trusted.
 *
 * @throws UsageError for a file that acts and can't be understood.
 */
export async function readSources(
  folder: string,
  io: Pick<CliIo, 'env' | 'cwd'>,
  {
    sources,
    given,
    root = folder,
    note,
  }: {
    readonly sources: readonly SettingSource[];
    readonly given: readonly GivenSettings[];
    /** Whose `.claude` is the project's: that of another checkout of it, for one in `folder` that nobody trusts. */
    readonly root?: string | undefined;
    readonly note: (text: string) => void;
  },
): Promise<Sources> {
  const found = await findFolderSettings(root, io);
  const record = found.trust.get(root);
  const isTrusted = record?.trusted === true;
  const user = claudeFolder(io);
  const settings: ActingSettings[] = [];
  if (sources.includes('user') && user !== null) {
    const path = join(user, 'settings.json');
    const file = await readSettingsFile(path);
    const all = { source: 'userSettings', mayAllow: true, mayRun: true, base: user } as const;
    if (file) settings.push({ ...readClaudeSettings(settingsObject(file.text, path), path, note), ...all });
  }
  for (const { kind, name, file, problem } of found.claude) {
    if (!sources.includes(kind)) continue;
    if (file === null) throw problem;
    const isSame = record?.others?.[name] === file.digest;
    // One that was written here on the user's word acts by itself.
    if (!isTrusted && !isSame) {
      note(`${name} left alone: nobody has trusted this folder. treadle run --trust does. [folder_not_trusted]`);
      continue;
    }
    if (!isSame)
      note(`${name} changed since this folder was trusted: only what denies and asks acts. [folder_changed]`);
    settings.push({
      ...readClaudeSettings(settingsObject(file.text, file.path), file.path, note),
      source: kind === 'project' ? 'projectSettings' : 'localSettings',
      mayAllow: kind === 'local' && isSame,
      mayRun: isSame,
      base: folder,
    });
  }
  // The client's own come last, which is where the last word is.
  for (const { where, settings: value } of given) {
    const all = { source: 'cliArg', mayAllow: true, mayRun: true, base: folder } as const;
    settings.push({ ...readClaudeSettings(value, where, note), ...all });
  }
  const isPinned = sources.includes('project') && isTrusted ? pinnedIn(found, note) : () => false;
  const users = sources.includes('user');
  const home = io.env['HOME'];
  const below = (name: string): string[] => [
    ...(users && user !== null ? [join(user, name)] : []),
    ...(isPinned(join(root, '.claude', name)) ? [join(root, '.claude', name)] : []),
  ];
  const places = { ...(users && home ? { home } : {}), project: root };
  const acts = ({ path, source }: { readonly path: string; readonly source?: unknown }): boolean =>
    source !== 'project' || isPinned(path);
  return {
    settings,
    agents: below('agents'),
    styles: below('output-styles'),
    skills: skillFolders(places)
      .filter(acts)
      .map((place) => ({ ...place, pinned: place.source === 'project' })),
    commands: commandFolders(places).filter(acts),
    isTrusted,
    found,
  };
}

/** Which folders with instructions are as they were when the project was trusted. One that isn't is left alone, and that is said. */
function pinnedIn({ folder, pins, unpinned }: FolderSettings, note: (text: string) => void): (path: string) => boolean {
  for (const { name, why } of unpinned) {
    if (name !== '.treadle/agents')
      note(`${name} left alone: ${why}. treadle run --trust trusts it as it is now. [folder_changed]`);
  }
  const acting = Object.keys(pins).filter((pin) => unpinned.every(({ name }) => name !== pin));
  return (path) => acting.some((name) => join(folder, name) === path);
}
